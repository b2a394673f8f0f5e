"""Training faults of the thirteenth part while storage is loud around them and does the job no harm."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.eleventh import unrest as eleventh_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.requests import HANDLES, object_path
from benchmarks.accuracy.generate.faults.words.script import cuda_error, loss_frames, raise_and_exit
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisfaults as faults
from fixtures.generator import sdk, torchrun
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirteenth")
ALL_SPEAK = 32
HEADS = (("decoder.decoder_layers.0", 1), ("joint.joint_net.2", 0), ("classifier.head", 0), ("ctc_head", 0))


@kind(reads=True, hangs=False, slurm=True, lead_s=90.0, without=RESTARTS)
def limit_reached_amid_rebalance(stage: Stage) -> Scenario:
    """SLURM ends a job at its limit while an operator's rebalance runs and reads repeat (Slurm docs, sbatch -t)."""
    stage.open()
    for one in (commotion.rebalance_running, commotion.reads_recover):
        beside(stage, one)
    if stage.draw.child("more").chance(0.5):
        beside(stage, eleventh_unrest.connects_repeated)
    job, at = stage.job, stage.at
    stage.mark(at, "the time limit is reached")
    job.slurm(at, 0, torchrun.step_cancelled(job.job, at, "TIME LIMIT"))
    for node in range(len(job.job.hosts)):
        job.agent_signalled(at + 40 * MS, node)
    job.ended_at = at + seconds(2)
    return stage.close(
        "The limit was two days, and the job would have needed three, with or without a rebalance.",
        (stage.innocent("infrastructure"),),
    )


@kind(trains=False, hangs=False, uptime=True, without=(*RESTARTS, "kalive_hiccup"))
def head_of_another_size(stage: Stage) -> Scenario:
    """A checkpoint comes late, for its target restarts, and has another head (NeMo, transformers: size mismatch)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("head"), stage.job.job
    job.start()
    down = job.begin + draw.span(100, 900)
    faults.terminate(cluster, victim, down)
    at, speakers = down + draw.span(300, 900), sorted(draw.shuffled(range(own.world))[:6])
    name = f"{own.task}/last.nemo"
    job.note(at, 0, f"going on from ais://checkpoints/{name}", line=104)
    back = down + draw.span(7_000, 10_000)
    faults.start_again(cluster, victim, back)
    read = back + draw.span(1_900, 6_000)
    for rank in speakers:
        path = object_path(stage, rank, name).replace(stage.bucket, "checkpoints")
        text = sdk.pool_error(victim.address, victim.ports[0], path, sdk.refused(draw.whole(*HANDLES)))
        then = at + draw.span(20, 600)
        for wait in (1.0, round(draw.between(1.1, 2.4), 2), round(draw.between(2.5, 4.4), 2)):
            if then < back:
                job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
            then += seconds(wait)
        job.note(
            read + draw.span(1, 900), rank, f"checkpoint read after 4 attempts, {draw.whole(430, 470)} MB", "W", 106
        )
    over = stage.mark(read + draw.span(2_100, 3_400), "the checkpoint has a head of another size than the model")
    said = _misfit(stage, draw)
    for rank in range(own.world) if own.world <= ALL_SPEAK else range(0, own.world, own.ranks_per_node):
        job.raise_on(over + draw.span(1, 300), rank, said)
    exits = [Exit(rank, over + 900 * MS + rank * MS, 1) for rank in range(0, own.world, own.ranks_per_node)]
    ended = job.agents_end(exits, over + SEC)
    made = of_all(stage.innocent("software", also=("data",)))
    return stage.close(
        "The new tokenizer has twice as many pieces; the checkpoint is of the old one.",
        (replace(made, culprit_ranks=None),),
        until=ended,
    )


def _misfit(stage: Stage, draw: Draw) -> str:
    """The traceback of a model that a checkpoint does not fit."""
    own = stage.job.job
    (layer, kernel), had, has = draw.pick(HEADS), draw.pick((1025, 129, 5001)), draw.pick((2049, 257, 51_865))
    tail = ", 1" if kernel else ""
    rows = [
        f"\tsize mismatch for {layer}.{what}: copying a param with shape torch.Size([{had}{more}]) from checkpoint, "
        f"the shape in current model is torch.Size([{has}{more}])."
        for what, more in (("weight", f", 512{tail}"), ("bias", ""))
    ]
    text = "\n".join(["RuntimeError: Error(s) in loading state_dict for EncDecModel:", *rows])
    module = f"{own.build['site']}/torch/nn/modules/module.py"
    frames = (
        *loss_frames(stage, "start_step = load_checkpoint(model, optimizer)"),
        sdk.Frame(own.script, 110, "load_checkpoint", "model.load_state_dict(state['model'])"),
        sdk.Frame(module, 2584, "load_state_dict", "raise RuntimeError("),
    )
    return sdk.traceback(sdk.Raised(frames, text))


@kind(culprit=0, hangs=False, lead_s=70.0, without=("low_space",))
def scratch_full_at_checkpoint(stage: Stage) -> Scenario:
    """torch.save finds the local disk full while a target is full for a tenant (pytorch issues: unexpected pos)."""
    beside(stage, noise.tenant_out_of_space)
    stage.open()
    if stage.draw.child("more").chance(0.6):
        eleventh_unrest.unsettled(stage)
    job, at, draw = stage.job, stage.at, stage.draw.child("scratch")
    site, own = job.job.build["site"], job.job
    folder = draw.pick(("/scratch", "/local/ckpt", "/raid0/exp", "/mnt/nvme0"))
    path = f"{folder}/{own.task}/step={stage.step}.pt"
    stage.mark(at - draw.span(400, 2_000), f"{folder} of {own.hosts[0]} is full")
    job.note(at - draw.span(2_100, 6_000), 0, f"saving checkpoint to {path}", line=116)
    file = f"{site}/torch/serialization.py"
    head = (
        sdk.Frame(own.script, 212, "<module>", "main()"),
        sdk.Frame(own.script, 203, "main", "save_checkpoint(model, optimizer, step)", True),
        sdk.Frame(own.script, 118, "save_checkpoint", "torch.save(state, path)", True),
    )
    pos = draw.whole(1 << 30, 9 << 30) // 64 * 64
    lines = draw.pick(((499, 355), (659, 424), (783, 603), (858, 664)))
    failed = f"PytorchStreamWriter failed writing file data/{draw.whole(31, 700)}: file write failed"
    first = sdk.Raised(
        (
            sdk.Frame(file, 943, "save", "_save("),
            sdk.Frame(file, 1226, "_save", "zip_file.write_record(name, storage, num_bytes)"),
        ),
        f"RuntimeError: [enforce fail at inline_container.cc:{lines[0]}] . {failed}",
        sdk.DURING,
    )
    inner = (
        sdk.Frame(file, 942, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
        sdk.Frame(file, 784, "__exit__", "self.file_like.write_end_of_file()"),
    )
    text = f"RuntimeError: [enforce fail at inline_container.cc:{lines[1]}] . unexpected pos {pos} vs {pos - 108}"
    job.raise_on(at, 0, sdk.traceback(first, sdk.Raised((*head, *inner), text)))
    job.agents_end([Exit(0, at + 700 * MS, 1)], at + 700 * MS)
    return stage.close(
        "Checkpoints are written to the host first; those of the last project are still there.",
        (stage.innocent("infrastructure", 0, also=("software", "storage_io")),),
    )


@kind(reads=True, hangs=False, lead_s=80.0)
def illegal_access_amid_rejections(stage: Stage) -> Scenario:
    """A kernel reads past its end while a target turns batches of others down (pytorch: illegal memory access)."""
    beside(stage, noise.tenant_rejected)
    stage.open()
    for one in (commotion.throttled_in_window, commotion.tenant_backend_fails, commotion.reads_recover):
        if stage.draw.child("loud", one.__name__).chance(0.7):
            beside(stage, one)
    rank, at, torch = stage.culprit, stage.at, stage.params.torch_release
    stage.mark(at, f"a kernel of rank {rank} accesses memory that is not its own")
    name = "torch.AcceleratorError" if torch.order >= 208 else "RuntimeError"
    error = cuda_error(torch.order, "an illegal memory access was encountered", "cudaErrorIllegalAddress")
    raise_and_exit(stage, at, rank, f"{name}: {error}", "loss.backward()")
    return stage.close(
        "An index of the loss kernel is of 32 bits, and the batch has more elements than that.",
        (stage.innocent("gpu", rank, also=("software",)),),
    )
