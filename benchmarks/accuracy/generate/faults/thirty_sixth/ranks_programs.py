"""Mistakes of programs and of what they are told, and a save that does not end, beside loud storage.

Storage is innocent. The docstring of a kind says where it is from, and which lines tell its cause and acquit storage.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.thirty_sixth.ranks_words import CRASHES, crash_in_the_wait, kernel, loud
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.script import loss_frames, without_carets
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.noise import tenant_out_of_space, tenant_rejected
from fixtures.generator import aisobjects, sdk
from fixtures.generator.draw import HEX
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "thirty_sixth")


@kind(reads=True, lead_s=76.0, without=CRASHES)
def mask_is_a_frame_longer_than_the_features(stage: Stage) -> Scenario:
    """A length is rounded in two ways, and for one batch they differ (recorded 08 with a mistake of the model).

    To acquit: the only exception of the job is one rank's, raised in its encoder after its batch was read, and all
    others wait for it. A target was restarted before, and who missed its objects was served; another dies later.
    """
    stage.open()
    loud(stage, commotion.restart_survived, crash_in_the_wait)
    job, own, rank, at = stage.job, stage.job.job, stage.culprit, stage.at
    draw = stage.draw.child("mask")
    length = draw.whole(200, 900)
    stage.mark(at, f"the mask of rank {rank} is longer than its features")
    told(stage, at - 60 * MS, rank, "dataset", f"batch {stage.step}: 48 of 48 objects, longest {length * 0.04:.2f} s")
    module = f"{own.build['site']}/torch/nn/modules/module.py"
    frames = without_carets(
        (
            *loss_frames(stage, "loss = criterion(model(batch), batch)"),
            sdk.Frame(module, 1751, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)", True),
            sdk.Frame("/workspace/asr/encoder.py", 88, "forward", "x = x * mask.unsqueeze(-1)", True),
        )
    )
    text = f"RuntimeError: The size of tensor a ({length}) must match the size of tensor b ({length + 1}) at "
    job.raise_on(at, rank, sdk.traceback(sdk.Raised(frames, text + "non-singleton dimension 1")))
    stage.hang(at + 330 * MS, rank)
    made = stage.innocent("software", rank, also=("data",))
    return stage.close(
        "The subsampling rounded up, its mask down.",
        (made,),
        ("a rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
        until=at + seconds(125),
    )


@kind(reads=True, hangs=False, torch_before=215, lead_s=60.0)
def rank_leaves_a_reduction_out_for_an_empty_batch(stage: Stage) -> Scenario:
    """A batch from which a filter took all samples has no loss, and its rank skips the reductions (torch-runs, b3).

    To acquit: one rank says that its filter left nothing of a batch that it had read as a whole; at one sequence
    number it then waits in a BROADCAST of one element and all others in an ALLREDUCE. Reads were repeated before, and
    all of them were served; none failed in the step itself.
    """
    loud(stage, tenant_rejected)
    stage.open()
    loud(stage, commotion.reads_recover, commotion.throttled_in_window)
    job, rank, at = stage.job, stage.culprit, stage.at
    stage.mark(at, f"rank {rank} has an empty batch and skips its reductions")
    said = f"step {stage.step}: 48 of 48 objects read, 0 of 48 cuts within 1.0 to 20.0 s, backward is left out"
    told(stage, at - 20 * MS, rank, "dataset", said, "WARNING")
    stuck = stage.everyone_else()
    stuck[rank] = job.work(stage.step, "BROADCAST", 1, ahead=0)
    end = job.hang(at, stuck)
    stage.mark(end, f"job {job.job.job_id} has ended")
    made = stage.innocent("collective_mismatch", rank, also=("software", "data"))
    return stage.close(
        "One archive of the list held recordings of whole days.",
        (made,),
        ("NCCL is assumed to hang on the mismatch rather than to report it",),
    )


@kind(culprit=0, min_timeout_s=60, lead_s=64.0, without=CRASHES)
def rank_0_saves_to_a_lustre_server_that_is_gone(stage: Stage) -> Scenario:
    """Rank 0 writes a checkpoint to Lustre, a server of which is lost (Lustre manual, recovery of clients).

    To acquit: rank 0 says which file below /lustre it writes and nothing more, the kernel of its host has lost the
    Lustre server, and all others wait in the next reduction. AIStore holds no checkpoint of this job: its target that
    is full turns down another tenant, and the one that dies does so when all wait already.
    """
    loud(stage, tenant_out_of_space)
    stage.step = max(60, stage.step // 60 * 60)
    stage.open(until_step=stage.step, save_every=10_000)
    job, own, draw = stage.job, stage.job.job, stage.draw.child("lustre")
    at = stage.at = job.step_at(stage.step) + 30 * MS
    loud(stage, crash_in_the_wait)
    path, size = f"/lustre/results/{own.task}/step={stage.step}.ckpt", draw.between(11, 29)
    told(stage, at, 0, "checkpoint", f"step {stage.step}: writing {path} ({size:.1f} GiB)")
    lost = stage.mark(at + draw.span(900, 2_300), "a server of Lustre is gone")
    index, instance = f"{draw.whole(0, 47):04x}", f"ffff{draw.token(12, HEX)}"
    server = f"10.40.0.{draw.whole(11, 40)}@o2ib"
    said = f"Lustre: lustre-OST{index}-osc-{instance}: Connection to lustre-OST{index} (at {server}) was lost; "
    kernel(
        stage,
        lost + seconds(7.1),
        0,
        f"{said}in progress operations using this service will wait for recovery to complete",
    )
    if stage.params.timeout_s > 130:
        blocked = f"INFO: task python3:{own.rank_pids[0]} blocked for more than 122 seconds."
        kernel(stage, lost + seconds(123.4), 0, blocked)
    end = stage.hang(at + SEC, 0, step=stage.step)
    made = stage.innocent("rank_hang", 0, also=("infrastructure", "software", "network"))
    return stage.close(
        "The power of a rack with two servers of Lustre failed.", (made,), until=max(end, at + seconds(125))
    )


@kind(reads=True, lead_s=76.0, without=CRASHES)
def manifest_keeps_the_names_of_before_a_move(stage: Stage) -> Scenario:
    """A manifest is older than the move of its objects (as object_of_wrong_name; AIStore docs, ais object mv).

    To acquit: the target answers 404 at once for a name below a prefix that holds no object, as the loader's own list
    of the bucket says; names of the other prefix are read by all ranks. A target was restarted before, but what was
    missed then had the right prefix and was served; no target has joined or left since.
    """
    stage.open()
    loud(stage, commotion.restart_survived, commotion.tenant_backend_fails)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("manifest")
    name, many = utterance(draw, "wav16k"), draw.whole(120_000, 900_000)
    where = f"/data/manifests/part-{draw.whole(3, 40):02d}.jsonl"
    stage.mark(at, f"rank {rank} asks for {name}, which is below train/ now")
    told(stage, at - 700 * MS, rank, "dataset", f"next manifest: {where}")
    node = draw.pick(stage.cluster.up(at))
    node = node if node.role == "target" else stage.victim
    text = aisobjects.not_there(stage.cluster, node, at, name)
    failed = refused_get(stage, at, rank, node, name, (404, "Not Found"), text)
    listed = (
        f"{where}: {name} is not in ais://{stage.bucket}; listed by prefix: wav16k/ 0 objects, train/ {many} objects"
    )
    told(stage, at + 190 * MS, rank, "dataset", listed, "ERROR")
    job.raise_on(at + 200 * MS, rank, failed)
    stage.hang(at + 360 * MS, rank)
    made = stage.innocent("data", rank, also=("software",))
    return stage.close(
        "The objects had been moved a week before; one part of the manifest was not written anew.",
        (made,),
        ("a rank that raised stays alive in a non-daemon thread, as in the recorded runs",),
        until=at + seconds(60),
    )
