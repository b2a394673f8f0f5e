"""Storage faults of the eighteenth part of clouds behind a bucket: they fail, hold back, refuse, or are slow."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import (
    BAD_REQUEST,
    asked_of,
    clip,
    curl_failed,
    shard,
    video_not_opened,
)
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aisobjects
from fixtures.generator import aisrounds as rounds
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "eighteenth")
BACKEND_ERROR = "gcp-error[googleapi: Error 503: We encountered an internal error. Please try again., backendError]"
SLOW_DOWN = "aws-error[SlowDown: Please reduce your request rate.]"
EXPIRED = "aws-error[ExpiredToken: The provided token has expired.]"


def _of_source(stage: Stage, *also: str) -> Expect:
    """The cluster is guilty for what lies behind it, and none of its nodes."""
    return of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure", *also)))


@kind(reads=True, hangs=False, lead_s=60.0)
def cloud_has_backend_errors(stage: Stage) -> Scenario:
    """Google's store fails inside for minutes, and shards are not in the cluster yet: 503 (GCS docs, status codes).

    To convict: the shard in curl's command is that of a cold GET which a target could not do a moment before, for an
    error of Google's; so are those that other ranks leave out, on any target.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("backend error")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 30_000), "the cloud fails inside")
    rounds.reads_cold(cluster, stage.job.begin + SEC, began, 2.6, (2_000, 7_000), (300, 900), draw.child("before"))
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, lost = began + int((at - began) * draw.between(0, 0.95)), shard(draw)
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, lost, BACKEND_ERROR, 503)
        stage.job.say(then + 6 * MS, other, "curl: (22) The requested URL returned error: 503")
        stage.job.note(then + 9 * MS, other, f"{lost}: exit 22, shard left out", "W", 88)
    name = shard(draw)
    behind.cold_failed(cluster, draw.pick(cluster.targets), at - 6 * MS, name, BACKEND_ERROR, 503)
    curl_failed(stage, at, rank, name, 22, "The requested URL returned error: 503")
    leaves(stage, at + 5 * MS, rank)
    return stage.close("Their page of incidents says so two hours later.", (_of_source(stage, "data", "network"),))


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=60.0)
def slow_down_outlasts_all_repeats(stage: Stage) -> Scenario:
    """A cold epoch of many ranks, S3 says SlowDown for minutes, the SDK repeats in silence (AWS docs, S3; urllib3).

    To convict: the object that the SDK gives up on after too many 503 is one that a target asked S3 for again and
    again, and was told to slow down, at the pace of urllib3's repeats.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, name = stage.draw.child("slow down"), utterance(stage.draw.child("slow name"), "raw")
    stage.open()
    began = stage.mark(at - draw.span(9_000, 27_000), "S3 asks the cluster to slow down")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.2, 60, 500, draw.child("before"))
    node, end = draw.pick(cluster.targets), at + seconds(TRIES_S[-1])
    then = began
    while then < end:
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, utterance(draw, "raw"), SLOW_DOWN, 503)
        then += draw.span(900, 5_500)
    aisobjects.cold_gets(cluster, began, end, 2.4, 900, 6_000, draw.child("some"))
    for turn, other in enumerate(readers(stage)[: draw.whole(1, 4)]):
        late = at - seconds(5) + seconds(9 * turn) + draw.span(1, 4_000)
        said = (
            f"{utterance(draw, 'raw')} came at the {draw.whole(3, 5)}th try (503 before), {draw.between(9, 42):.0f} s"
        )
        stage.job.note(late, other, said, "W", 86)
    for after in TRIES_S:
        behind.cold_failed(cluster, node, at + seconds(after) + draw.span(1, 3), name, SLOW_DOWN, 503)
    over = status_repeated(stage, rank, node, name, 503)
    leaves(stage, over, rank)
    return stage.close("All names begin with the same letters, and so lie in the same partition.", (_of_source(stage),))


@kind(reads=True, hangs=False, lead_s=60.0)
def session_of_all_targets_expires(stage: Stage) -> Scenario:
    """Targets were given a session of twelve hours, and it is over: ExpiredToken, 400 (AWS docs, STS; PyAV, errors).

    To convict: the video that FFmpeg was told 400 for is one that a target could not get from S3 for an expired token,
    as is every other cold read of any target since; what is in the cluster is read as ever.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, name = stage.draw.child("session"), clip(stage.draw.child("session name"))
    stage.open()
    began = stage.mark(at - draw.span(2_000, 12_000), "the session of the targets expires")
    rounds.reads_cold(cluster, stage.job.begin + SEC, began, 1.5, (190, 900), (4, 60), draw.child("before"))
    then = began + draw.span(20, 800)
    while then < at + seconds(3):
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, clip(draw), EXPIRED, 400)
        then += draw.span(500, 2_600)
    for other in readers(stage)[: draw.whole(1, 4)]:
        late, own = began + int((at - began) * draw.between(0.1, 0.95)), clip(draw)
        behind.cold_failed(cluster, draw.pick(cluster.targets), late, own, EXPIRED, 400)
        stage.job.note(late + 7 * MS, other, f"{own}: Server returned 400 Bad Request, another clip", "W", 93, "clips")
    behind.cold_failed(cluster, draw.pick(cluster.targets), at - 6 * MS, name, EXPIRED, 400)
    video_not_opened(stage, at, rank, name, BAD_REQUEST, "[http] HTTP error 400 Bad Request")
    leaves(stage, at, rank)
    return stage.close(
        "Somebody has set them up by hand, from a shell, with what the shell had.", (_of_source(stage, "data"),)
    )


@kind(culprit=0, min_timeout_s=60, lead_s=60.0, may_be_undetermined=True)
def teacher_is_fetched_cold(stage: Stage) -> Scenario:
    """Rank 0 fetches weights of a teacher from a cold bucket, the others wait for them (aistore issue 171; docs/aws).

    To convict: rank 0 says how little of the weights has come, from an object of the cloud, as the others begin to
    wait; cold reads of all targets take tens of seconds each since. No line of AIStore is about these weights before
    they are there, so that who leaves it open is right as well.
    """
    cluster, at, over = stage.cluster, stage.at, over_at(stage)
    draw, size = stage.draw.child("teacher"), stage.draw.child("size").whole(14, 90)
    stage.open()
    began = stage.mark(at - draw.span(300, 2_000), "what is read for the first time comes slowly")
    rounds.reads_cold(cluster, stage.job.begin + SEC, began, 2.0, (190, 900), (4, 60), draw.child("before"))
    rounds.reads_cold(cluster, began, over + seconds(20), 0.9, (14_000, 52_000), (4, 60), draw.child("cold"))
    name = f"models/teacher-{draw.pick(('7b', '13b', '34b'))}.safetensors"
    stage.job.note(
        at - 80 * MS, 0, f"distillation begins: fetching s3://{stage.bucket}/{name} ({size}.0 GiB)", line=141
    )
    then, got = at + draw.span(9_000, 10_500), 0.0
    while then < over - SEC:
        got += draw.between(0.02, 0.19)
        said = f"{got:.2f} of {size}.0 GiB of s3://{stage.bucket}/{name} after {(then - at) / SEC:.0f} s"
        stage.job.note(then, 0, said, line=144)
        then += draw.span(9_900, 10_300)
    stage.hang(at + 340 * MS, 0)
    made = stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "rank_hang"))
    return stage.close("The link to the cloud is shared with the backup, which begins at that hour.", (of_all(made),))


@kind(reads=True, min_timeout_s=60, lead_s=70.0)
def cold_shards_outlast_the_watchdog(stage: Stage) -> Scenario:
    """A new corpus is read for the first time, each shard comes as a whole before it is sent (aistore issues 171, 349).

    To convict: several ranks tell of shards that took most of a minute, the silent one has said which it opens, and
    cold reads, of which there were none before, take as long on all targets.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("first time")
    stage.open()
    began = stage.mark(at - draw.span(24_000, 41_000), "shards are read for the first time and come slowly")
    often = 12.0 / len(cluster.targets)
    rounds.reads_cold(cluster, began, over + seconds(10), often, (38_000, 71_000), (1_500, 4_000), draw.child("cold"))
    for turn, other in enumerate(readers(stage)[: draw.whole(3, 6)]):
        then = at - seconds(3) + seconds(8.5 * turn) + draw.span(1, 6_000)
        url = asked_of(stage, draw.pick(cluster.targets), shard(draw))
        stage.job.note(then, other, f"first byte after {draw.between(33, 58):.0f} s: {url}", "W", 74, "shards")
    url = asked_of(stage, draw.pick(cluster.targets), shard(draw))
    stage.job.note(at - 20 * MS, rank, f"buffer is empty, waiting for {url}", "W", 70, "shards")
    stage.hang(at + 340 * MS, rank)
    made = stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network", "infrastructure"))
    return stage.close("A prefetch had been planned for the night before, and its job was cancelled.", (of_all(made),))
