"""Training faults of the thirteenth part beside storage that is loud and has no part in them."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.eighth import unrest as eighth_unrest
from benchmarks.accuracy.generate.faults.eleventh import unrest as eleventh_unrest
from benchmarks.accuracy.generate.faults.words import commotion, pipelines
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aistraffic, sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, comma_stamp, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit

kind = kinds_of("training", "thirteenth")


@kind(reads=True, lead_s=80.0, without=("restart_before", "kill_after", "rotation"))
def crop_larger_than_volume(stage: Stage) -> Scenario:
    """A volume is smaller than what is cut from it; a target was restarted before (MONAI#6162, #4087)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    eleventh_unrest.unsettled(stage, (commotion.reads_recover, eighth_unrest.slow_then_fine, noise.tenant_rejected))
    rank, at, draw = stage.culprit, stage.at, stage.draw.child("crop")
    module = f"{stage.job.job.build['site']}/monai/transforms"
    cut = draw.pick((64, 96, 128))
    shape = (draw.whole(20, cut - 1), draw.whole(cut, 512), draw.whole(cut, 512))
    stage.mark(at, f"rank {rank} has a volume of {shape[0]} slices and is to cut {cut}")
    if draw.chance(0.4):
        name = f"volumes/case-{draw.whole(0, 9_999):04d}"
        stage.job.note(at - 40 * MS, rank, f"{name}: {shape[0]} slices in {draw.between(0.1, 0.9):.2f} s", "W", 58)
    inner = (
        sdk.Frame(f"{module}/croppad/dictionary.py", 1003, "__call__", "self.randomize(d.get(self.label_key), fg_"),
        sdk.Frame(f"{module}/utils.py", 647, "generate_pos_neg_label_crop_centers", "centers.append(correct_crop_"),
        sdk.Frame(f"{module}/utils.py", 567, "correct_crop_centers", "raise ValueError("),
    )
    said = f"ROI size {(cut, cut, cut)} and label image size {shape}"
    text = "ValueError: The size of the proposed random crop ROI is larger than the image size, got "
    cause = sdk.traceback(sdk.Raised(pipelines.applied(stage, *inner), f"{text}{said} respectively."))
    pipelines.in_transform(stage, at, rank, cause, "monai.transforms.croppad.dictionary.RandCropByPosNegLabeld")
    stage.hang(at + 340 * MS, rank)
    also = ("data",)
    return stage.close(
        "A clinic sends recordings of a smaller field; nobody has padded them.",
        (stage.innocent("software", rank, also=also),),
    )


def _heartbeats_missed(stage: Stage, at: int, limit: float) -> list[Exit]:
    """Monitors find that their ranks are late, and kill them; who is not late yet is ended with the first of a host."""
    job, draw, ends = stage.job.job, stage.draw.child("monitors"), []
    for node in range(len(job.hosts)):
        looks = sorted((at + draw.span(0, 4_900), rank) for rank in job.ranks_of(node))
        first = min(looks[0][0], at + draw.span(300, 1_900))
        ends.append(Exit(looks[0][1], first + 20 * MS, -9))
        for look, rank in looks:
            then = first + (look - looks[0][0])
            if then > first + 400 * MS:
                break
            who = f"{job.agent_pids[node] + 700 + job.local_rank(rank)}@{job.hosts[node]}:{rank}"
            head = f"[{comma_stamp(then, job.zone)}] [WARNING] [RankMonServer{who}]"
            stage.job.agent(then, node, f"{head} Did not get subsequent heartbeat. Waited {limit:.2f} seconds.")
            stage.job.agent(then + MS, node, f"{head} FT timeout elapsed.")
    return ends


@kind(hangs=False, lead_s=60.0, min_timeout_s=120)
def heartbeat_limit_too_short(stage: Stage) -> Scenario:
    """A validation lasts longer than a launcher waits for a sign of life (NVIDIA resiliency extension, usage guide)."""
    stage.open()
    beside(stage, commotion.rebalance_running)
    eleventh_unrest.unsettled(stage, (noise.mountpath_before, commotion.tenant_backend_fails))
    job, at, draw = stage.job, stage.at, stage.draw.child("heartbeat")
    limit = float(draw.pick((45, 60, 90)))
    stage.mark(at, f"a validation begins that lasts longer than {limit:.0f} s")
    batches = draw.whole(400, 1_900)
    job.note(at, 0, f"validation of step {stage.step}: {batches} batches", line=190)
    over, pace = at + seconds(limit), draw.between(1.6, 3.4)
    aistraffic.batches(stage.cluster, at, over, job.job.world / pace / 8, draw.child("load"), ())
    then, done = at + seconds(10), 0.0
    while then < over:
        done = (then - at) / seconds(1) / pace
        said = f"validation: {int(done)} of {batches} batches, waited for data {done * 0.02:.1f} s"
        job.note(then, 0, said, line=193)
        then += seconds(10)
    ends = _heartbeats_missed(stage, over, limit)
    job.agents_end(ends, max(one.at for one in ends))
    made = stage.innocent("software", also=("infrastructure", "rank_hang"))
    return stage.close(
        "The limit was measured when the validation had a tenth of its size.", (replace(made, culprit_ranks=None),)
    )


@kind(hangs=False, lead_s=60.0)
def library_finds_no_memory(stage: Stage) -> Scenario:
    """A device is so full that cuBLAS gets no handle; a tenant is full too (DeepSpeedExamples#323, Qwen3#873)."""
    beside(stage, noise.tenant_out_of_space)
    stage.open()
    eleventh_unrest.unsettled(stage)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cublas")
    stage.mark(at, f"the device of rank {rank} has no room for a handle")
    if draw.chance(0.4):
        said = f"step {stage.step}: longest sample {draw.whole(31, 90)} s, {draw.between(77.1, 79.2):.1f} GiB reserved"
        job.note(at - 60 * MS, rank, said, "W", 158)
    code = draw.pick(("loss = criterion(model(batch), batch)", "loss.backward()"))
    library = "hipblas" if job.job.torch.is_rocm else "cublas"
    text = f"RuntimeError: CUDA error: {library.upper()}_STATUS_ALLOC_FAILED when calling `{library}Create(handle)`"
    raise_and_exit(stage, at, rank, text, code)
    eleventh_unrest.hung_up_on(stage)
    return stage.close(
        "The limit on the length of samples was taken away yesterday.",
        (stage.innocent("gpu", rank, also=("software",)),),
    )
