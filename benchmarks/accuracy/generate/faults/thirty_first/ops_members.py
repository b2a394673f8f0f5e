"""Storage faults of the thirty-first part of what operators do to nodes and disks: each is one command too many."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.handlings import tried
from benchmarks.accuracy.generate.faults.words.requests import exhausted
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS
from fixtures.generator import aischurn, aisdisk, aisoperations, chains, sdk
from fixtures.generator.chains import Failed
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_first")
ALSO = ("data_loading_stall", "infrastructure")


@kind(reads=True, lead_s=70.0, without=(*RESTARTS, *DISKS, "soft_errors"))
def mountpath_is_disabled_for_new_firmware(stage: Stage) -> Scenario:
    """An operator takes a mountpath out without a resilver (aistore docs, mountpath disable --no-resilver).

    To convict: every entry that is missing is missing at the same target, whoever assembles the batch, and that one
    has disabled a mountpath by "disable-mp" some seconds before the first; no error of a disk goes before, and none of
    its lines is a warning. Another target's disks are busy, which holds up nobody. `no resilvering`: from memory.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("disable-mp")
    stage.open()
    loud = stage.other_target(victim, draw.whole(0, 50))
    aisdisk.disk_pressure(cluster, loud, at - draw.span(26_000, 39_000), at + seconds(30), draw.child("busy"))
    began = stage.mark(at - draw.span(4_000, 9_000), f"an operator disables a mountpath of {victim.name}")
    aisoperations.mountpath_disabled(cluster, victim, began, draw.whole(0, len(victim.disks) - 1))
    peers = [one for one in cluster.up(at) if one is not victim]

    def missing(then: int, many: int) -> Failed:
        return chains.missing_entry(stage, then, draw.pick(peers), victim, utterance(draw), many)

    for then, other in spread(stage, began + 300 * MS, at - 150 * MS, (1, 3), draw):
        failed = missing(then, draw.whole(1, 3))
        tried(stage, then + 7 * MS, other, failed, 1, 4)
        served = f"get-batch served without {draw.whole(1, 3)} of 48 entries"
        stage.job.note(then + draw.span(2_020, 2_200), other, served, "W", 99)
    then = at
    for turn, wait in enumerate((2.0, 4.0, 8.0)):
        tried(stage, then + 6 * MS, rank, missing(then, draw.whole(5, 8)), turn + 1, 4)
        then += seconds(wait) + draw.span(12, 90)
    last = chains.soft_limit(stage, then, draw.pick(peers), rank)
    stage.job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 320 * MS, rank)
    return stage.close(
        "The drive was to get new firmware, which takes two minutes, and a resilver would have taken two hours.",
        (stage.guilty("storage_io", victim, also=(*ALSO, "data")),),
        until=then + 20 * SEC,
    )


@kind(reads=True, lead_s=60.0, without=(*RESTARTS, "second_job", "kalive_hiccup", "tenant_rejected"))
def cluster_of_another_context_is_shut_down(stage: Stage) -> Scenario:
    """`ais cluster shutdown` was meant for a cluster of tests (aistore docs, cluster; errors by a wrong AIS_ENDPOINT).

    To convict: a stream ends early, then nobody listens at the gateway; all nodes say in the same second that they
    stop because of `shutdown`, none because of a signal, none leaves the map, and none is back. (Wording by the
    sources, ais/target.go: Stopping, Terminated with err.)
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, job = stage.draw.child("shutdown"), stage.proxy_of(stage.culprit), stage.job
    stage.open()
    shut = stage.mark(at + draw.span(60, 900), "somebody shuts down the cluster")
    designated, got = draw.pick(cluster.up(at)), draw.whole(0, 30)
    aisoperations.stream_cut(cluster, designated, shut + 45 * MS, cluster.wid(proxy, draw), got, shut - at + 40 * MS)
    over = aisoperations.shut_down(cluster, shut, draw)
    then = shut + 62 * MS
    tried(stage, then, rank, Failed(*sdk.short_batch(job.job, stage.step, got, 48)), 1, 2)
    then = max(then + seconds(2.0), over) + draw.span(20, 90)
    text = ""
    for turn in range(6):
        handle = draw.whole(0x7F0000000000, 0x7FFFFFFFFFFF)
        path = f"/v1/ml/moss/{stage.bucket}?provider=ais"
        text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.refused(handle))
        wait = round(draw.between(1.0, min(9.0, 2.0**turn + 0.5)), 2)
        job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
        then += seconds(wait) + 4 * MS
    exhausted(stage, then, rank, text)
    stage.hang(at + 320 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=(*ALSO, "network")))
    return stage.close("The terminal was still that of yesterday.", (made,), until=then + 20 * SEC)


@kind(
    reads=True,
    targets=4,
    ais_order=425,
    lead_s=75.0,
    min_timeout_s=90,
    without=(*RESTARTS, "kalive_hiccup", "second_job"),
)
def patience_of_keepalive_is_set_to_a_blink(stage: Stage) -> Scenario:
    """timeout.max_keepalive is set far too low, so targets that live are removed in turn (aistore docs, configuration).

    To convict: since a new configuration the primary removes one target after the other within two seconds, each of
    which goes on writing and is back in seconds; each return begins a rebalance that aborts all batches, at the
    moments at which those of a rank end early. No target is at fault: none is missing, full or slow,
    and with the next configuration all is quiet.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy, job = stage.draw.child("keepalive"), stage.proxy_of(stage.culprit), stage.job
    stage.open()
    first = at - draw.span(4_000, 5_400)
    changed = stage.mark(first - draw.span(900, 4_000), "an operator lowers the time-outs of keepalive")
    version = draw.whole(4, 40)
    aisoperations.configured(cluster, changed, version)
    dropped = draw.shuffled(cluster.targets)[: draw.whole(3, 4) if len(cluster.targets) > 4 else 3]
    then, older, ends = first, 0, list[int]()
    for turn, node in enumerate(dropped):
        own = draw.child(node.node_id)
        stage.mark(then, f"{node.name} is held to be gone")
        others = [one for one in cluster.up(then) if one is not node]
        designated, wid, got = draw.pick(others), cluster.wid(proxy, draw), draw.whole(0, 31)
        asked = at + 4 * MS if not ends else ends[-1] + seconds(2.0 * turn)
        back = aisoperations.removed_as_too_slow(cluster, node, then, own)
        abort = back + seconds(2.004)
        aisoperations.stream_cut(cluster, designated, abort + 6 * MS, wid, got, abort - asked)
        older = aischurn.rebalance_begins(cluster, back + 4 * MS, own, "keepalive-update", node.node_id, older)
        aisoperations.superseded(cluster, abort - 300 * MS, older - 1)
        failed = Failed(*sdk.short_batch(job.job, stage.step, got, 48))
        ends.append(abort + 12 * MS)
        if turn + 1 < len(dropped):
            tried(stage, ends[-1], rank, failed, turn + 1, len(dropped))
        else:
            job.raise_on(ends[-1], rank, failed.traceback)
        cluster.start_batches(abort + draw.span(900, 1_500), draw.pick(others))
        then = max(back + seconds(2.4), abort + seconds(2.0 * turn + 2.5)) + draw.span(300, 2_900)
    restored = stage.mark(ends[-1] + draw.span(1_500, 6_000), "the time-outs are set to what they were")
    aisoperations.configured(cluster, restored, version + 1)
    stage.hang(at + 320 * MS, rank)
    made = of_all(stage.guilty("storage_io", dropped[0], also=ALSO))
    return stage.close(
        "Failover was to be quicker, and the unit was taken for seconds.", (made,), until=ends[-1] + 20 * SEC
    )
