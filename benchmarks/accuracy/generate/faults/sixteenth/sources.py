"""Storage faults of the sixteenth part of what lies behind a bucket: no way, no credentials, slow, not ready."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.comers import videos_not_fetched
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.faults.words.visitors import crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aisobjects, torchrun
from fixtures.generator import aisquiet as quiet
from fixtures.generator.draw import LOWER
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "sixteenth")
IMDS = (
    "aws-error[operation error S3: GetObject, get identity: get credentials: failed to refresh cached credentials, "
    "no EC2 IMDS role found, operation error ec2imds: GetMetadata, http response error StatusCode: 404, request to "
    "EC2 IMDS failed]"
)
MINIO = "aws-error[XMinioServerNotInitialized: Server not initialized yet, please try again.]"


@kind(reads=True, hangs=False, lead_s=60.0)
def videos_behind_a_closed_way(stage: Stage) -> Scenario:
    """No route to the cloud any more, and no video of ten can be had below a mount (SlowFast#206, #558)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, host = stage.draw.child("closed way"), f"{stage.bucket}.s3.eu-central-1.amazonaws.com"
    address = f"52.219.{draw.whole(46, 210)}.{draw.whole(3, 250)}:443"
    stage.open()
    began = stage.mark(at - draw.span(31_000, 44_000), "a route to the cloud is taken away")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.9, 90, 900, draw.child("before"))

    def failed(then: int, name: str) -> None:
        error = behind.not_connected(f"https://{host}/{name}", address, "no route to host")
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, error, 500, by_s3=True)

    folder = draw.token(6, LOWER)
    turns = [at - int((9 - trial) * draw.between(2.1, 2.9) * SEC) for trial in range(10)]
    turns = sorted(max(began + 300 * MS, then) for then in turns)
    same = f"train/{folder}/{draw.token(11)}_000{draw.whole(10, 99)}.mp4"
    names = [
        same if trial < 6 else f"train/{folder}/{draw.token(11)}_000{draw.whole(10, 99)}.mp4" for trial in range(10)
    ]
    for then, name in zip(turns, names, strict=True):
        failed(then - 6 * MS, name)
    for other in readers(stage)[: draw.whole(1, 5)]:
        then = began + draw.span(900, 20_000)
        for trial in range(draw.whole(1, 4)):
            name = f"train/{draw.token(6, LOWER)}/{draw.token(11)}_000{draw.whole(10, 99)}.mp4"
            failed(then - 6 * MS, name)
            path = f"/mnt/{stage.bucket}/{name}"
            said = f"Failed to meta load video idx {draw.whole(0, 240_000)} from {path}; trial {trial}"
            stage.job.say(then, other, said)
            then += draw.span(2_100, 2_900)
    videos_not_fetched(stage, turns, rank, names, "Failed to meta load video idx {index} from {path}; trial {trial}")
    exits(stage, turns[-1] + 4 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("network", "data", "data_loading_stall")))
    return stage.close("What is in the cluster is read as ever; a second provider is to be tried out today.", (made,))


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0, uptime=True)
def second_epoch_without_credentials(stage: Stage) -> Scenario:
    """What was evicted is to be read anew, and targets have no credentials by now (AWS docs, SDK for Go; docs/aws)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("credentials")
    stage.open()
    evicted = stage.mark(at - draw.span(24_000, 41_000), f"{stage.victim.name} evicts what nobody has read for long")
    aisobjects.evict(cluster, stage.victim, evicted, at + seconds(30), draw)
    stage.job.note(at - draw.span(2_000, 9_000), 0, "epoch 1 begins", line=166)

    def failed(then: int, name: str) -> None:
        behind.cold_failed(cluster, stage.victim, then, name, IMDS, 500)

    for other in readers(stage)[: draw.whole(1, 4)]:
        then, name = at - draw.span(100, 1_900), utterance(draw, "raw")
        failed(then, name)
        stage.job.note(then + 5 * MS, other, f"{name} not read, left out: 500 Server Error", "W", 86)
    name = utterance(draw, "raw")
    for after in TRIES_S:
        failed(at + seconds(after) + draw.span(2, 9), name)
    over = status_repeated(stage, rank, stage.victim, name, 500)
    exits(stage, over, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure", "network")))
    return stage.close(
        "The role of the nodes was taken away when pods were to get one of their own, which they did not.", (made,)
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0)
def cold_epoch_reaches_the_time_limit(stage: Stage) -> Scenario:
    """A bucket is cold and its source slow: a job crawls into its time limit (aistore issue 171; Slurm docs)."""
    cluster, at, job = stage.cluster, stage.at, stage.job
    draw = stage.draw.child("cold epoch")
    stage.open()
    began = stage.mark(at - draw.span(2_000, 9_000), "reads are cold from here on, and the source is slow")
    over = crawls(stage, draw.whole(9, 15), 10.0, 26.0)
    aisobjects.cold_gets(cluster, began, over + seconds(20), 0.7, 7_000, 24_000, draw.child("cold"))
    quiet.held_back(cluster, began + 20 * SEC, over, draw)
    who, then = [stage.culprit, *readers(stage)], at + draw.span(9_000, 14_000)
    while then < over:
        node, name = draw.pick(cluster.targets), utterance(draw, "raw")
        url = f"{node.url(0)}/v1/objects/{stage.bucket}/{name}"
        job.note(then, draw.pick(who), f"slow read: {draw.between(8, 25):.1f} s for {url}", "W", 80)
        then += draw.span(7_000, 23_000)
    ended = over + draw.span(1_000, 9_000)
    stage.mark(ended, "the time limit is reached")
    job.slurm(ended, 0, torchrun.step_cancelled(job.job, ended, "TIME LIMIT"))
    for node_number in range(len(job.job.hosts)):
        job.agent_signalled(ended + 40 * MS, node_number)
    job.ended_at = ended + seconds(2)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure")))
    return stage.close(
        "The limit was chosen after runs with a warm bucket; a new version of the corpus has come since.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def minio_behind_restarts(stage: Stage) -> Scenario:
    """The store behind was restarted and is not ready for minutes: 503 in its own words (minio, server errors)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("minio")
    stage.open()
    began = stage.mark(at - draw.span(4_000, 19_000), "the store behind restarts")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 2.1, 60, 500, draw.child("before"))
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 5)]):
        then, name = began + int((at + 20 * SEC - began) * draw.between(0.05, 0.9)), utterance(draw, "raw")
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, MINIO, 503)
        stage.job.note(then + 5 * MS, other, f"{name}: 503 Server Error, next try in {20 + turn} s", "W", 86)
    name, node = utterance(draw, "raw"), draw.pick(cluster.targets)
    for after in TRIES_S:
        behind.cold_failed(cluster, node, at + seconds(after) + draw.span(2, 9), name, MINIO, 503)
    over = status_repeated(stage, rank, node, name, 503)
    exits(stage, over, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "network", "infrastructure")))
    return stage.close(
        "Sixteen servers were restarted at once, as its documents advise, and one disk is slow to come.", (made,)
    )
