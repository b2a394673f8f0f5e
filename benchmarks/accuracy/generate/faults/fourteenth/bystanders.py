"""Training faults of the fourteenth part beside storage that is noisy: resets, restarts, full disks, denied reads."""

from __future__ import annotations

from benchmarks.accuracy.generate import noise
from benchmarks.accuracy.generate.faults.eleventh import unrest as eleventh_unrest
from benchmarks.accuracy.generate.faults.words import commotion
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.script import raise_and_exit
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdaily as daily
from fixtures.generator import sdk
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("training", "fourteenth")
RESET = "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"


@kind(reads=True, hangs=False, lead_s=100.0)
def resets_after_an_idle_hour(stage: Stage) -> Scenario:
    """Idle connections were closed and are made anew; a label is out of range (NeMo Speech PR 15612)."""
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("idle")
    for who in (rank, *readers(stage)[:7]):
        for _ in range(draw.whole(1, 2)):
            then = at - draw.span(900, 6_500)
            job.sdk_warning(then, who, sdk.retrying(round(draw.between(1.0, 1.5), 2), "ConnectionError", RESET))
    eleventh_unrest.unsettled(stage, (noise.soft_errors, commotion.tenant_backend_fails))
    stage.mark(at, f"a label of rank {rank} is not one of the classes")
    classes = draw.pick((128, 1_024, 5_000))
    text = f"IndexError: Target {classes + draw.whole(0, 3)} is out of bounds."
    raise_and_exit(stage, at, rank, text, "loss = criterion(model(batch), batch['labels'])")
    return stage.close(
        "A validation of an hour has just ended; the vocabulary has been cut, the manifest has not.",
        (stage.innocent("software", rank, also=("data",)),),
    )


@kind(reads=True, hangs=False, lead_s=100.0, without=RESTARTS)
def loss_is_nan_beside_a_restart(stage: Stage) -> Scenario:
    """A target restarts and all reads are served; a check of the loss ends the job (Megatron-LM, check-for-nan)."""
    stage.open()
    beside(stage, commotion.restart_survived)
    eleventh_unrest.unsettled(stage, (commotion.tenant_meets_bad_data, noise.tenant_errors))
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("nan")
    stage.mark(at, f"the loss of rank {rank} is not a number")
    step = stage.step
    job.note(at - seconds(stage.params.step_s), 0, f"step {step - 1}: grad norm {draw.between(31, 190):.2f}", "W", 197)
    text = f"RuntimeError: Rank {rank}, node {job.job.hosts[job.job.node_of(rank)]}, device "
    text += f"{job.job.local_rank(rank)}, iteration {step}: Unexpected result nan "
    text += "(message='found NaN in local forward loss calculation')"
    raise_and_exit(stage, at, rank, text, "validate_result(loss, rejection_func=torch.isnan)")
    return stage.close(
        "The rate of learning was raised with the number of hosts, the warm-up was not.",
        (stage.innocent("software", rank, also=("data", "gpu")),),
    )


@kind(reads=True, hangs=False, lead_s=100.0)
def disk_of_the_host_full_beside_a_full_target(stage: Stage) -> Scenario:
    """A cache fills the disk of a host, a target is full for another tenant (mosaicml/streaming docs, cache limit)."""
    beside(stage, noise.tenant_out_of_space)
    stage.open()
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("cache")
    stage.mark(at, f"the local disk of {job.job.hosts[job.job.node_of(rank)]} is full")
    shard = f"shard.{draw.whole(0, 99_999):05d}.mds"
    for left, ago in ((61, 33_000), (22, 9_000)):
        job.note(at - draw.span(ago, ago + 2_000), rank, f"/local/cache: {left} MB left", "W", 158)
    path = f"/local/cache/{job.job.task}/train/{shard}.tmp"
    text = f"OSError: [Errno 28] No space left on device: '{path}'"
    raise_and_exit(stage, at, rank, text, "sample = next(stream)")
    return stage.close(
        "The cache has no limit unless one is given, and the runs of a week share it.",
        (stage.innocent("infrastructure", rank, also=("software", "data")),),
    )


@kind(reads=True, lead_s=100.0, words_only=True, without=("disk_busy",))
def one_rank_logs_images_beside_a_backup(stage: Stage) -> Scenario:
    """A rank alone draws pictures, storage is busy with a copy (Lightning docs, logging on one rank)."""
    cluster, at, rank = stage.cluster, stage.at, stage.culprit
    draw = stage.draw.child("images")
    stage.open()
    daily.backed_up(cluster, at - draw.span(14_000, 30_000), at + seconds(min(stage.params.timeout_s, 300)), draw)
    for turn, other in enumerate(readers(stage)[:4]):
        url = f"{draw.pick(cluster.targets).url(0)}/v1/objects/{stage.bucket}/{utterance(draw)}"
        late = at - seconds(9) + seconds(2 * turn) + draw.span(1, 900)
        stage.job.note(late, other, f"slow read: {draw.between(2.1, 5.2):.1f} s for {url}", "W", 80)
    stage.mark(at, f"rank {rank} draws pictures and does not come to the next step")
    stage.job.note(at - 9 * MS, rank, f"step {stage.step}: {draw.whole(900, 4_100)} pictures to draw", "W", 233)
    then = at + 30 * SEC
    while then < at + seconds(stage.params.timeout_s - 1):
        stage.job.note(then, rank, f"step {stage.step}: still drawing after {(then - at) // SEC} s", "W", 236)
        then += 30 * SEC
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The number of pictures was meant for a set of a hundred samples.",
        (stage.innocent("rank_hang", rank, also=("software",)),),
    )
