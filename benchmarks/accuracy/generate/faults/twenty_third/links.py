"""Storage faults of the twenty-third part of hosts and links: slow, dark, too small for a frame, locked, untrusted."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.clients import resumed, resumed_too_often
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.loaders import certificate_expired, over_tls
from benchmarks.accuracy.generate.faults.words.regulars import tar_of, waited
from benchmarks.accuracy.generate.faults.words.requests import (
    HANDLES,
    exhausted,
    object_path,
    one_object,
    refused_get,
    retries,
)
from benchmarks.accuracy.generate.faults.words.subscribers import asks_until_the_end, comes_to_an_end
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, others_wait, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates as gates
from fixtures.generator import aisobjects, sdk
from fixtures.generator import aisshifts as shifts
from fixtures.generator import aistickets as tickets
from fixtures.generator.aisnights import routines_pile_up
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twenty_third")
#: So long after the fault every node has printed its counters and flags once more.
COUNTED = seconds(200)


@kind(reads=True, hangs=False, min_timeout_s=180, lead_s=70.0)
def bond_of_a_target_falls_to_one_gigabit(stage: Stage) -> Scenario:
    """One port of a host has negotiated a gigabit after its cable was moved (ethtool; linux bonding documentation).

    To convict: ranks that wait for shards all name one target, and none gets more than some MiB a second; by its own
    counters it sends never more than a gigabit carries since then, reads come to take a minute; the others do not.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, limit = stage.draw.child("gigabit"), 90
    over = at + seconds(limit + 0.02)
    stage.open()
    began = stage.mark(at - draw.span(16_000, 30_000), f"the link of {victim.name} has one gigabit a second")
    tickets.shards_served(cluster, cluster.targets, stage.job.begin, began - seconds(1), draw.child("before"))
    shifts.sends_at_line_rate(cluster, victim, began, over + seconds(15), (109, 112), draw)
    well = [node for node in cluster.targets if node is not victim]
    tickets.shards_served(cluster, well, began, over, draw)
    who = [rank, *readers(stage)[: draw.whole(2, 5)]]
    for turn in range(2 * len(who)):
        then, speaker = at + seconds(7 + 70 * turn / (2 * len(who))) + draw.span(1, 3_000), who[turn % len(who)]
        asked = at if speaker == rank else max(began, then - draw.span(8_000, 24_000))
        url, rate = f"{victim.url(0)}/v1/objects/{stage.bucket}/{tar_of(draw)}", draw.between(2.9, 8.8)
        said = f"{url}: {rate * (then - asked) / SEC:.0f} MiB in {waited(asked, then)} so far ({rate:.1f} MiB/s)"
        stage.job.note(then, speaker, said, "W", 88, "fetch")
    loader_timed_out(stage, over, rank, limit)
    leaves(stage, over, rank)
    return stage.close(
        "The other port of the bond had been dark for months, which nobody is told of.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
        until=over + COUNTED,
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=70.0, without=RESTARTS)
def power_of_a_storage_host_fails(stage: Stage) -> Scenario:
    """A host of one target goes dark, and its objects have no copies (support threads: no route to host).

    To convict: the SDK cannot connect to a target, of which nothing is heard since that moment; peers have no route to
    it and the primary removes it; the 404 that ends the job is for the same object, by a target that is asked since.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, name = stage.draw.child("power"), utterance(stage.draw.child("own name"))
    stage.open()
    died = stage.mark(at - draw.span(400, 2_500), f"the host of {victim.name} loses its power")
    peers = draw.shuffled([node for node in cluster.up(at) if node is not victim])[:4]
    aisobjects.lose_host(cluster, victim, died, died + seconds(90), peers)
    gone = faults.leave_smap(cluster, victim, died, hung=True)
    path = object_path(stage, rank, name)
    cause = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
    text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
    over = retries(stage, at, rank, draw, 3.02, text, gone, "ConnectTimeout")
    for other in readers(stage)[: draw.whole(1, 4)]:
        then = max(died + seconds(3.1), at) + draw.span(100, 22_000)
        said = sdk.connect_timeout(victim.address, draw.whole(*HANDLES))
        stage.job.note(then, other, f"{utterance(draw)} skipped: {said}", "W", 86)
    if over < gone:
        exhausted(stage, over, rank, text, "ConnectTimeout", one_object(stage))
    else:
        heir = draw.pick(peers)
        told = aisobjects.not_there(cluster, heir, over - 5 * MS, name)
        stage.job.raise_on(over, rank, refused_get(stage, over, rank, heir, name, (404, "Not Found"), told))
    leaves(stage, over, rank)
    return stage.close(
        "Both of its supplies hang on one strip, whose fuse was for one of them.",
        (stage.guilty("storage_io", victim, also=("network", "infrastructure", "data_loading_stall", "data")),),
        until=died + seconds(75),
    )


@kind(reads=True, min_timeout_s=60, lead_s=70.0)
def large_frames_are_dropped_on_the_way(stage: Stage) -> Scenario:
    """A switch port passes no jumbo frames, and its host sends nothing else (Mellanox and Ceph docs, MTU mismatch).

    To convict: the SDK's reader resumes an object of one target time and again, whose body never comes; other ranks
    wait for the same target, and streams between it and its peers end in time-outs while they write; the target lives,
    answers the primary, and is in the map to the end.
    """
    cluster, victim, rank, at, over = stage.cluster, stage.victim, stage.culprit, stage.at, over_at(stage)
    draw = stage.draw.child("frames")
    stage.open()
    began = stage.mark(at - draw.span(3_000, 9_000), f"frames of nine thousand bytes do not pass to {victim.name}")
    gates.frames_dropped(cluster, victim, began, over + seconds(20), draw)
    others_wait(stage, [victim], draw)
    end = resumed(stage, rank, victim, tar_of(draw), over - SEC, 5, draw)
    if end < over - SEC:
        resumed_too_often(stage, end, rank)
        comes_to_an_end(stage, end)
    else:
        comes_to_an_end(stage, over)
    return stage.close(
        "The port was given the settings of its neighbour when a line card was replaced.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, min_timeout_s=60, lead_s=70.0, without=DISKS)
def file_system_of_a_target_locks_up(stage: Stage) -> Scenario:
    """XFS of a target waits for its log and never wakes up, reads block in the kernel (linux-xfs, hung_task reports).

    To convict: the SDK's reads of one target run into its limit each time it asks; routines of that target grow by
    thousands from tick to tick since then, with an alert for them, and those of no other do.
    """
    cluster, victim, at, over = stage.cluster, stage.victim, stage.at, over_at(stage)
    draw = stage.draw.child("locked")
    stage.open()
    began = stage.mark(at - draw.span(5_000, 13_000), f"a file system of {victim.name} waits for its log for good")
    routines_pile_up(cluster, victim, began + seconds(5), over + seconds(20), draw)
    others_wait(stage, [victim], draw)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    path = object_path(stage, stage.culprit, utterance(draw))
    text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
    comes_to_an_end(stage, asks_until_the_end(stage, text, draw))
    return stage.close(
        "Its kernel has a mend for that since two releases, and nobody reboots it.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network", "infrastructure")),),
    )


@kind(reads=True, hangs=False, min_timeout_s=120, lead_s=70.0)
def certificate_of_the_gateways_ran_out(stage: Stage) -> Scenario:
    """The issuer did not renew what proxies and targets show (cert-manager troubleshooting; requests, SSLError).

    To convict: the SDK does not connect as the certificate of a proxy has expired, and others say the same of theirs;
    all nodes have counted the minutes it had left, flags have told of that end (bit 16) and tell of an expired
    certificate (bit 17) since then, as do alerts of targets. Handshakes that fail are not logged.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("expired")
    stage.open()
    began = stage.mark(at - draw.span(7_000, 25_000), "the certificate of all nodes has expired")
    shifts.certificate_runs_out(cluster, began, at + seconds(100) + COUNTED, draw.child("nodes"))
    proxy = stage.proxy_of(rank)
    path = object_path(stage, rank, utterance(draw)).split("&pid=")[0]
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, certificate_expired())
    for other in readers(stage)[: draw.whole(1, 4)]:
        own, then = stage.proxy_of(other), began + int((at - began) * draw.between(0.1, 1.4))
        name = object_path(stage, other, utterance(draw)).split("&pid=")[0]
        said = sdk.pool_error(own.address, own.ports[0], name, certificate_expired())
        stage.job.note(then, other, f"new session failed, old one kept: {said}", "W", 60)
    over = retries(stage, at, rank, draw, 0.03, text, at + seconds(100), "SSLError")
    exhausted(stage, over, rank, text, "SSLError", one_object(stage))
    leaves(stage, over, rank)
    made = stage.close(
        "It was issued for ninety days, and the account of the issuer had been closed.",
        (of_all(stage.guilty("storage_io", proxy, also=("network", "infrastructure", "software"))),),
        until=over + COUNTED,
    )
    return over_tls(stage, made)
