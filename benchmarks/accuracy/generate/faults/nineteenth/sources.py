"""Storage faults of the nineteenth part of clouds behind a bucket: keys, broken streams, policies, lost chunks."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.lodgers import asked_of
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.settlers import pycurl_failed, s3fs_says
from benchmarks.accuracy.generate.faults.words.travellers import audio_not_opened, frame_not_read, table
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisbehind as behind
from fixtures.generator import aisnights as nights
from fixtures.generator import aisobjects
from fixtures.generator.model import Expect, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "nineteenth")


def _of_source(stage: Stage, *also: str) -> Expect:
    """The cluster is guilty for what lies behind it, and none of its nodes."""
    return of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure", *also)))


@kind(reads=True, hangs=False, lead_s=60.0)
def calls_of_a_key_are_throttled(stage: Stage) -> Scenario:
    """Each cold read of an encrypted object asks KMS, which has a quota of its own: 400 (AWS docs, KMS request quotas).

    To convict: the body of the answer in Polars' error is that of a target's cold read in the same moment, which S3
    refused for KMS; so are other cold reads of all targets since some seconds, while what is here is read as ever.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("kms")
    stage.open()
    began = stage.mark(at - draw.span(6_000, 21_000), "KMS holds back")
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, began, 1.1, 90, 600, draw.child("before"))
    aisobjects.cold_gets(cluster, began, at + seconds(5), 1.9, 90, 900, draw.child("some"))

    def refused(then: int, name: str) -> str:
        why = "You have exceeded the rate at which you may call KMS. Reduce the frequency of your calls."
        who = f"(Service: Kms, Status Code: 400, Request ID: {draw.token(8, '0123456789abcdef')}-b7e1-4c1d)"
        error = f"aws-error[KMS.ThrottlingException: {why} {who}]"
        behind.cold_failed(cluster, draw.pick(cluster.targets), then, name, error, 400, by_s3=True)
        return error

    then = began + draw.span(20, 900)
    while then < at + seconds(3):
        refused(then, table(draw))
        then += draw.span(700, 3_900)
    for other in readers(stage)[: draw.whole(1, 4)]:
        late, own = began + int((at - began) * draw.between(0.1, 0.95)), table(draw)
        said = refused(late, own)
        stage.job.note(late + 6 * MS, other, f"{own} left out: 400 Bad Request, {said}", "W", 66, "tables")
    name = table(draw)
    error = refused(at - 6 * MS, name)
    body = (
        f"<Error><Code>BadRequest</Code><Message>{error}</Message><Resource>/{stage.bucket}/{name}</Resource></Error>"
    )
    frame_not_read(stage, at, rank, f"Generic S3 error: Client error with status 400 Bad Request: {body}")
    leaves(stage, at, rank)
    return stage.close(
        "Its bucket has no key of its own, and so every object asks for one.", (_of_source(stage, "data"),)
    )


@kind(reads=True, hangs=False, lead_s=60.0)
def streams_of_a_cloud_break(stage: Stage) -> Scenario:
    """Google ends streams of HTTP/2 in the middle of large objects, which are passed on (Go, http2; GCS docs, retries).

    To convict: pycurl has less than was announced at the moment at which a target's cold read of the object that the
    rank had asked for was ended by the cloud; other cold reads end like that as well, on any target.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("streams")
    stage.open()
    began = stage.mark(at - draw.span(7_000, 25_000), "the cloud ends streams in their middle")
    nights.reads_from_google(cluster, stage.job.begin + SEC, at + seconds(4), 1.9, (90, 600), draw.child("cold"))
    then = began
    while then < at - SEC:
        nights.stream_of_google_ends(cluster, draw.pick(cluster.targets), then, utterance(draw, "long"), draw)
        then += draw.span(1_900, 8_000)
    for other in readers(stage)[: draw.whole(1, 4)]:
        late, own = began + int((at - began) * draw.between(0.1, 0.95)), utterance(draw, "long")
        nights.stream_of_google_ends(cluster, draw.pick(cluster.targets), late, own, draw)
        left = draw.whole(1 << 20, 90 << 20)
        said = f"{own}: transfer closed with {left} bytes remaining to read, pulled again"
        stage.job.note(late + 3 * MS, other, said, "W", 27, "pull")
    name, node = utterance(draw, "long"), draw.pick(cluster.targets)
    reader_note(stage, at - draw.span(900, 2_500), rank, f"pull {asked_of(stage, node, name)}, third time")
    nights.stream_of_google_ends(cluster, node, at - 3 * MS, name, draw)
    pycurl_failed(stage, at, rank, 18, f"transfer closed with {draw.whole(1 << 20, 90 << 20)} bytes remaining to read")
    leaves(stage, at, rank)
    return stage.close("Their page of incidents has nothing on that day.", (_of_source(stage, "data", "network"),))


@kind(reads=True, hangs=False, lead_s=60.0)
def policy_of_a_cloud_matches_no_more(stage: Stage) -> Scenario:
    """Hosts are of another pool now, a policy names the old one, and Oracle says 404 (OCI docs, API errors; s3fs-fuse).

    To convict: the mount was told 404 of the file that torchaudio does not find, and a target says at that moment that
    Oracle has no such bucket or does not show it; so of all that is read for the first time, on every target.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, space = stage.draw.child("policy"), f"ax{stage.draw.child('namespace').token(10, 'bcdfghjklmnpqrstvwxyz')}"
    stage.open()
    began = stage.mark(at - draw.span(3_000, 15_000), "targets are not authorized any more")

    def missing(then: int, who: int, name: str) -> None:
        nights.not_authorized_by_oracle(cluster, draw.pick(cluster.targets), then - 4 * MS, name, space, draw)
        s3fs_says(
            stage,
            then,
            who,
            "WAN",
            "curl.cpp:RequestPerform(2489)",
            f"HTTP response code 404 was returned, path=/{name}",
        )

    for other in readers(stage)[: draw.whole(2, 5)]:
        then, own = began + int((at - began) * draw.between(0.05, 0.95)), utterance(draw, "new")
        missing(then, other, own)
        stage.job.note(then + 5 * MS, other, f"{own}: No such file or directory, another wave", "W", 44, "waves")
    name = utterance(draw, "new")
    missing(at - 3 * MS, rank, name)
    audio_not_opened(stage, at, rank, f"/mnt/{stage.bucket}/{name}", "No such file or directory")
    leaves(stage, at, rank)
    return stage.close(
        "Its rule matches the compartment that hosts of storage were in until noon.", (_of_source(stage, "data"),)
    )


@kind(reads=True, ais_order=430, min_timeout_s=60, lead_s=75.0)
def large_object_comes_in_chunks_until_none(stage: Stage) -> Scenario:
    """A blob download waits for a chunk that the cloud never sends, and so does its reader (docs/blob_downloader).

    To convict: the silent rank said last which object it has a target download in chunks; that target lists the job as
    running to the end, and what it gets from the cloud has not grown since the rank is silent.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("chunks")
    stage.open()
    stage.mark(at, "a chunk of a large object does not come")
    begun = at - draw.span(21_000, 33_000)
    job, got = nights.chunks_until_none(cluster, victim, begun, at, draw)
    name, size = f"corpora/part-{draw.whole(0, 63):03d}.tar", draw.whole(48, 190)
    said = f"blob-download {asked_of(stage, victim, name)} ({size} GiB, chunks of 128 MiB, 16 workers)"
    reader_note(stage, begun - 20 * MS, rank, said)
    reader_note(stage, begun + 90 * MS, rank, f"x-{job} begins, {size * 8} chunks")
    reader_note(stage, at - draw.span(300, 2_000), rank, f"{got - 1} of {size} GiB here, buffer is empty")
    stage.hang(at + 340 * MS, rank)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure"))
    return stage.close("Its request has no limit of time, and the cloud's end of it was gone.", (made,))
