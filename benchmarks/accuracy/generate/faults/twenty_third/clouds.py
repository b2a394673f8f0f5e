"""Storage faults of the twenty-third part of what lies around: archived, unresolved, busy elsewhere, closed off."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.fetchers import tar_stream_timed_out
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.outlets import reader_note
from benchmarks.accuracy.generate.faults.words.regulars import mds_of, status_to_the_end, waited
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisrounds as rounds
from fixtures.generator import aisshifts as shifts
from fixtures.generator import aistickets as tickets
from fixtures.generator.aisbehind import cold_failed
from fixtures.generator.aisobjects import cold_gets
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_third")
ARCHIVED = "aws-error[InvalidObjectState: The operation is not valid for the object's storage class]"
BEHIND = ("data_loading_stall", "network", "infrastructure")


def recording(draw: Draw) -> str:
    """The name of a recording, by the year it was made in."""
    return f"corpus/{draw.whole(2016, 2021)}/{draw.whole(1, 12):02d}/{draw.whole(0, 9_999_999):07d}.wav"


@kind(reads=True, hangs=False, lead_s=70.0)
def objects_were_moved_to_an_archive_class(stage: Stage) -> Scenario:
    """A rule of the bucket behind has moved what is old to Glacier, GET is refused (aws docs, InvalidObjectState).

    To convict: the SDK's error is a 403 of a target, with the words of the cloud for an object of another storage
    class; targets are told the same of whatever is old and not in the cluster, and younger objects come as ever.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("archived")
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    cold_gets(cluster, stage.job.begin + seconds(2), at + seconds(4), 0.9, 60, 340, draw)
    began = stage.mark(at - draw.span(6_000, 28_000), "the first object is asked for that is in an archive")
    for other in readers(stage)[: draw.whole(2, 5)]:
        then, node = began + int((at - began) * draw.between(0, 0.96)), draw.pick(cluster.targets)
        name = recording(draw)
        cold_failed(cluster, node, then - 5 * MS, name, ARCHIVED, 403)
        stage.job.note(then, other, f"{name} left out: 403 by {node.name}: {ARCHIVED}", "W", 93)
    name = recording(draw)
    cold_failed(cluster, victim, at - 5 * MS, name, ARCHIVED, 403)
    stage.job.raise_on(at, rank, refused_get(stage, at, rank, victim, name, (403, "Forbidden"), ARCHIVED))
    leaves(stage, at, rank)
    return stage.close(
        "Whoever wrote the rule meant backups, which lie under another prefix.",
        (of_all(stage.guilty("storage_io", victim, also=(*BEHIND, "data"))),),
    )


@kind(reads=True, hangs=False, lead_s=70.0, min_timeout_s=120)
def storage_cluster_resolves_no_cloud(stage: Stage) -> Scenario:
    """The servers of names beside the targets answer for the cloud no more (CoreDNS issues, server misbehaving).

    To convict: the SDK has too many 500 of one target for one object; at each of its tries that target could not look
    up the cloud's name for it, and neither could the others for theirs since one moment; until then they read from it.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, region = stage.draw.child("names"), stage.draw.child("region").pick(("us-east-2", "eu-west-1", "us-west-2"))
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    began = stage.mark(at - draw.span(900, 8_000), "servers of names beside the targets answer for the cloud no more")
    cold_gets(cluster, stage.job.begin + seconds(2), began - SEC, 0.8, 70, 420, draw)
    name = utterance(draw)
    asked, over = status_to_the_end(stage, rank, victim, name, 500)
    for then in asked:
        why = shifts.name_not_resolved(stage.bucket, name, region)
        cold_failed(cluster, victim, then - 6 * MS, name, why, 500)
    then = began
    while then < over:
        other = utterance(draw)
        why = shifts.name_not_resolved(stage.bucket, other, region)
        cold_failed(cluster, draw.pick(cluster.targets), then, other, why, 500)
        then += draw.span(1_500, 9_500)
    for turn, who in enumerate(readers(stage)[: draw.whole(2, 4)]):
        then = at + seconds(17 + 15 * turn) + draw.span(1, 6_000)
        lag = waited(max(began, then - draw.span(9_000, 16_000)), then)
        stage.job.note(then, who, f"{utterance(draw)} still not there after {lag} (cold)", "W", 79)
    leaves(stage, over, rank)
    return stage.close(
        "They are two pods on one host, which had been cordoned and then drained.",
        (of_all(stage.guilty("storage_io", victim, also=BEHIND)),),
    )


@kind(reads=True, min_timeout_s=90, lead_s=75.0)
def store_behind_is_busy_with_its_own_recovery(stage: Stage) -> Scenario:
    """An S3 store of Ceph fills up what a lost disk held, and clients of it wait (ceph-users, slow ops; Streaming).

    To convict: ranks wait for shards that are not in the cluster; the only trace at AIStore is in counters: reads from
    the store behind took half a second each until some seconds before, and take minutes since; there is no error.
    """
    cluster, rank, at, over = stage.cluster, stage.culprit, stage.at, over_at(stage)
    draw, begun = stage.draw.child("recovery"), stage.job.begin + seconds(2)
    stage.open()
    tickets.reworded(cluster, "backends: []", "backends: [aws]")
    reader_note(stage, begun - SEC, 0, f"remote s3://{stage.bucket}/mds, endpoint of AIStore, backend rgw (not cached)")
    slow = stage.mark(at - draw.span(5_000, 16_000), "the store behind recovers what a disk of its own held")
    rounds.reads_cold(cluster, begun, slow - seconds(2), 0.9, (300, 900), (60, 120), draw)
    longest = max(30_000.0, stage.params.timeout_s * 1_300.0)
    rounds.reads_cold(cluster, slow, over - seconds(25), 2.2, (20_000, longest), (60, 120), draw)
    speakers = [rank, *readers(stage)[: draw.whole(2, 5)]]
    for turn, who in enumerate(speakers):
        then = at + int((over - at) * (0.2 + 0.11 * turn)) + draw.span(1, 3_000)
        asked = at if who == rank else max(slow, then - draw.span(19_000, 45_000))
        said = f"download of {mds_of(draw)} has taken {waited(asked, then)} so far (cold at the cache)"
        stage.job.note(then, who, said, "W", 97, "stream")
    stage.hang(at + 230 * MS, rank)
    return stage.close(
        "Recovery had been given priority over clients, for the night only.",
        (of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", *BEHIND[1:]))),),
        until=over + seconds(220),
    )


@kind(reads=True, hangs=False, lead_s=75.0, ais_order=430)
def policy_closes_the_data_port_of_a_target(stage: Stage) -> Scenario:
    """A NetworkPolicy of Kubernetes forgets the port for data of one target's pod (ais-k8s issues; get-batch).

    To convict: the SDK's stream has ended in a time-out at one target, and other ranks name the same one; its peers
    cannot connect to its port for data since then, and entries of its batches come from neighbours, or not at all.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("policy")
    stage.open()
    began = stage.mark(at - draw.span(17_000, 24_000), f"a policy lets nobody in to the data port of {victim.name}")
    over = at + draw.span(20_010, 20_090)
    shifts.streams_not_received(cluster, victim, began, over + seconds(205), draw)
    why = f"HTTPConnectionPool(host='{victim.address}', port={victim.ports[0]}): Read timed out."
    for other in readers(stage)[: draw.whole(2, 5)]:
        then = max(began + seconds(20.1), at - seconds(9)) + draw.span(100, 25_000)
        text = f"Timeout while fetching batch result at index {draw.whole(0, 30)}: {why}"
        if then < over + 300 * MS:
            stage.job.note(then, other, f"{text} Falling back to direct AIStore API call.", "W", 219, "batch_loader")
    tar_stream_timed_out(stage, over, rank, victim)
    leaves(stage, over, rank)
    return stage.close(
        "It was tried on one pod before it was to be given to all of them.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        until=over + seconds(210),
    )
