"""Storage faults of the twelfth part that a target or all of them have: throttling, thrashing, resets, probes."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.clients import fetch_frames
from benchmarks.accuracy.generate.faults.words.requests import object_path, refused_get, retries
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, others_wait
from benchmarks.accuracy.generate.faults.words.visitors import cancelled_by_hand, crawls
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aispassages as passages
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "twelfth")


def _late(stage: Stage, since: int, until: int, what: str, low_s: float, high_s: float) -> None:
    """Ranks say now and then how long they have waited."""
    draw, then = stage.draw.child("late"), since
    ranks = [stage.culprit, *readers(stage)[:5]]
    while then < until:
        stage.job.note(then, draw.pick(ranks), what.format(draw.between(low_s, high_s)), "W", 80)
        then += draw.span(9_000, 31_000)


@kind(reads=True, hangs=False, slurm=True, ais_order=450, lead_s=60.0, without=("disk_busy", "tenant_rejected"))
def throttled_until_cancelled(stage: Stage) -> Scenario:
    """A target holds batches back for its disks: a job that crawls is cancelled (aistore docs/monitoring-get-batch)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw, xact = stage.draw.child("throttled"), None
    stage.open()
    began = stage.mark(at - draw.span(6_000, 14_000), f"the disks of {victim.name} are at their limit")
    over = crawls(stage, draw.whole(10, 15), 19.0, 37.0)
    disk.disk_pressure(cluster, victim, began, over + seconds(30), draw)
    xact, order, then = cluster.xact, victim.release.order, began + draw.span(900, 2_900)
    while then < over and xact is not None:
        level, slept = draw.pick((("high", "10ms"), ("critical", "100ms"), ("critical", "100ms")))
        advice = ev.advice(level, slept, "low", "low", level)
        if level == "critical" and draw.chance(0.5):
            chains.reject(stage, then, victim, draw.whole(0, stage.params.ranks - 1), advice, draw.whole(21, 90))
        else:
            cluster.say(victim, then, ev.throttled(xact, draw.whole(21, 90), advice, slept, order))
        cluster.count(victim, then, getbatch_throttle_ns=draw.whole(20, 190) * 100 * MS, getbatch_n=1)
        then += draw.span(2_500, 11_000)
    _late(stage, at + seconds(19), over, "get-batch served in {:.1f} s", 17.5, 35.0)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure"))
    return stage.close(
        "One target of the cluster has the old disks; a user looks at the speed after lunch.",
        (replace(made, culprit_ranks=None),),
    )


@kind(reads=True, hangs=False, slurm=True, lead_s=60.0, without=("low_space", "tenant_out_of_space"))
def cache_thrashes(stage: Stage) -> Scenario:
    """A cluster is smaller than what it is to cache: each read is cold again (aistore docs/storage_svcs, LRU)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("thrashes")
    stage.open()
    began = stage.mark(at - draw.span(11_000, 24_000), "all targets evict what the next epoch is to read")
    over = crawls(stage, draw.whole(10, 14), 15.0, 33.0)
    for node in cluster.up(began):
        passages.reads_anew(cluster, node, began, over + seconds(20), draw.child("anew", node.node_id))
        then = began + draw.span(10, 90_000)
        while then < over:
            done = then + draw.span(61_000, 98_000)
            aisobjects.evict(cluster, node, then, done, draw.child("evicts", node.node_id, then))
            then = done + draw.span(140_000, 240_000)
    _late(stage, at + seconds(16), over, "reading a shard took {:.1f} s", 13.0, 31.0)
    cancelled_by_hand(stage, over + draw.span(2_000, 19_000))
    made = of_all(stage.guilty("data_loading_stall", victim, also=("storage_io", "infrastructure", "network")))
    return stage.close(
        "The corpus has grown by a half since the cluster was bought.", (replace(made, culprit_ranks=None),)
    )


@kind(reads=True, min_timeout_s=90, lead_s=60.0, without=("mountpath_before", "disk_busy"))
def controller_keeps_resetting(stage: Stage) -> Scenario:
    """A controller times out and is reset until its disk is given up (kernel nvme: I/O timeout; aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, number = stage.draw.child("resets"), stage.draw.child("disk").whole(0, len(stage.victim.disks) - 1)
    stage.open()
    began = stage.mark(at - draw.span(21_000, 43_000), f"the controller of a disk of {victim.name} resets itself")
    given_up = at + draw.span(43_000, 58_000)
    passages.controller_resets(cluster, victim, began, given_up, number, draw)
    path, device = victim.mountpaths[number], victim.disks[number]
    disk.lose_mountpath(cluster, victim, given_up, path, device, draw.between(60, 190))
    others_wait(stage, [victim], draw)
    name = utterance(draw)
    cause = sdk.read_timeout(victim.address, victim.ports[0])
    text = sdk.pool_error(victim.address, victim.ports[0], object_path(stage, rank, name), cause)
    then = max(retries(stage, at, rank, draw, 20.02, text, given_up), given_up + draw.span(300, 4_000))
    missing = aisobjects.not_there(cluster, victim, then, name)
    stage.job.raise_on(then + 6 * MS, rank, refused_get(stage, then, rank, victim, name, (404, "Not Found"), missing))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "Firmware of a year ago; the kernel waits thirty seconds before it resets a controller, and does so often.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, lead_s=170.0, uptime=True, without=(*RESTARTS, "disk_busy", "kalive_hiccup"))
def probes_end_a_busy_target(stage: Stage) -> Scenario:
    """A target answers its probe too late for its disks are busy, and is ended, twice (ais-k8s, livenessProbe)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, site = stage.draw.child("probes"), stage.job.job.build["site"]
    stage.open()
    began = stage.mark(at - draw.span(151_000, 163_000), f"the disks of {victim.name} are at their limit")
    first = at - draw.span(91_000, 104_000)
    disk.disk_pressure(cluster, victim, began, first, draw.child("before"))
    faults.terminate(cluster, victim, first)
    joined = faults.start_again(cluster, victim, first + draw.span(9_000, 15_000))
    cluster.start_batches(joined + seconds(3.6), stage.other_target(victim))
    disk.disk_pressure(cluster, victim, joined + 20 * SEC, at, draw.child("after"))
    faults.terminate(cluster, victim, stage.mark(at - draw.span(5, 40), f"the probe of {victim.name} fails again"))
    got, whole = draw.whole(90 << 20, 900 << 20), draw.whole(1_000 << 20, 3_000 << 20)
    broken = f"IncompleteRead({got} bytes read, {whole - got} more expected)"
    inner = (
        sdk.Frame(
            f"{site}/aistore/sdk/obj/object_reader.py", 158, "__iter__", "yield from self._content_iterator.iter()"
        ),
        sdk.Frame(f"{site}/requests/models.py", 822, "generate", "raise ChunkedEncodingError(e)"),
    )
    caller = fetch_frames(stage, "for chunk in self.bucket.object(name).get_reader():", *inner)
    error = f"requests.exceptions.ChunkedEncodingError: ('Connection broken: {broken}', {broken})"
    stage.job.raise_on(at + 3 * MS, rank, sdk.traceback(sdk.Raised(caller, error)))
    for other, after in zip(readers(stage), (0.6, 1.9, 3.1), strict=False):
        then, path = at + seconds(after) + draw.span(1, 400), object_path(stage, other, utterance(draw))
        cause = sdk.refused(draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF) // 16 * 16)
        text = sdk.pool_error(victim.address, victim.ports[0], path, cause)
        retries(stage, then, other, draw, 0.004, text, at + seconds(9))
    faults.start_again(cluster, victim, at + draw.span(11_000, 16_000))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A probe has five seconds; a kubelet knows nothing of disks and ends what does not answer.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )
