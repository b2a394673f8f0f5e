"""Storage faults of the eleventh part that reads meet: drives, disks that seek, batches that wait, cold sources."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.callers import (
    empty_entry_not_told,
    fallback_failed,
    index_too_late,
    loader_timed_out,
    missing_text,
    stream_truncated,
)
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S, status_repeated
from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.requests import refused_get
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisobjects, chains
from fixtures.generator import aisstrain as strain
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance
from fixtures.generator.torchrun import Exit

kind = kinds_of("storage", "eleventh")


def _missing(stage: Stage, owner: Node, at: int, rank: int, name: str) -> str:
    """An object that a target does not have: its line and counter, and the client's text in one line."""
    text = aisobjects.not_there(stage.cluster, owner, at, name)
    return missing_text(stage, at, rank, owner, name, text)


@kind(reads=True, ais_order=400, without=("mountpath_before",))
def drive_drops_out(stage: Stage) -> Scenario:
    """A drive is gone from its bus and its mountpath FAULTED; entries of it come empty (NVIDIA/aistore docs/fshc)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("drive")
    stage.open()
    began = stage.mark(at - draw.span(2_400, 15_000), f"a drive of {victim.name} is gone from its bus")
    disk, until = draw.whole(0, len(victim.disks) - 1), at + seconds(min(stage.params.timeout_s, 120) + 20)
    lost = strain.drive_drops_out(cluster, victim, began, until, disk, draw)
    for _ in range(draw.whole(4, 11)):
        then = lost + int((at + 9 * SEC - lost) * draw.between(0, 1))
        cluster.count(draw.pick(cluster.up(then)), then, err_soft_getbatch_n=draw.whole(1, 5))
    for _ in range(draw.whole(2, 6)):
        then = lost + int((at + 9 * SEC - lost) * draw.between(0, 1))
        aisobjects.not_there(cluster, victim, then, utterance(draw, "other"))
    if draw.chance(0.5):
        cluster.count(stage.other_target(victim), at - 4 * MS, getbatch_n=1, getbatch_obj_n=36, err_soft_getbatch_n=3)
        empty_entry_not_told(stage, at, rank)
    elif draw.chance(0.5):
        failed = chains.soft_limit(stage, at, stage.other_target(victim, draw.whole(0, 99)), rank)
        stage.job.raise_on(at + 6 * MS, rank, failed.traceback)
    else:
        name = utterance(draw)
        text = aisobjects.not_there(cluster, victim, at, name)
        stage.job.raise_on(at + 6 * MS, rank, refused_get(stage, at, rank, victim, name, (404, "Not Found"), text))
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "One copy of everything was thought to be enough for a cache; the drive is one of a batch of bad ones.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data", "software")),),
    )


@kind(reads=True, ais_order=400, lead_s=70.0, without=(*RESTARTS, "loader_fallbacks"))
def stream_cut_by_drain(stage: Stage) -> Scenario:
    """A drained target cuts a streamed batch, and what is then read alone is nowhere (lhotse PR 1566)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("cut")
    stage.open()
    down = stage.mark(at - draw.span(60, 1_200), f"the node of {victim.name} is drained")
    got, designated = draw.whole(1, 40), stage.other_target(victim, draw.whole(0, 99))
    chains.cut_off_stream(stage, at, designated, victim, rank, got, 48)
    faults.terminate(cluster, victim, down)
    stream_truncated(stage, at + 4 * MS, rank, got, 48)
    for other, after in zip(readers(stage), (0.3, 1.4), strict=False):
        stream_truncated(stage, at + seconds(after) + draw.span(1, 300), other, draw.whole(3, 44), 48)
    then = at + draw.span(30, 900)
    name, owner = utterance(draw), stage.other_target(victim, draw.whole(0, 99))
    for node in draw.shuffled(cluster.up(then))[:2]:
        cluster.count(node, then - 20 * MS, get_n=draw.whole(1, 9), get_ns_total=draw.span(2, 30), get_size=90_000)
    why = _missing(stage, owner, then, rank, name)
    fallback_failed(stage, then + 6 * MS, rank, name, why)
    stage.hang(then + 340 * MS, rank)
    back = stage.mark(at + draw.span(36_000, 52_000), f"{victim.name} runs on its node again")
    faults.start_again(cluster, victim, back)
    return stage.close(
        "Nodes of storage get their updates by day; a disruption budget was never written.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "data")),),
    )


@kind(reads=True, min_timeout_s=90, lead_s=60.0)
def first_reads_take_minutes(stage: Stage) -> Scenario:
    """Large shards come from the source as a whole before a first byte is sent (NVIDIA/aistore issues 171, 349)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, limit = stage.draw.child("first reads"), min(stage.params.timeout_s - 20, 120) // 10 * 10
    stage.open()
    began = stage.mark(at - draw.span(2_000, 20_000), "an epoch comes to shards that are not in the cluster")
    strain.whole_first(cluster, began, at + seconds(limit), draw.between(0.9, 2.1), draw)
    if draw.chance(0.6):
        stage.job.note(began - 90 * MS, 0, f"mixing in s3://granary-raw from step {stage.step}", "I", 109, "mixture")
    for turn, other in enumerate(readers(stage)[:4]):
        late = at + seconds(11 * turn) + draw.span(1, 9_000)
        shard, node = f"shards/raw-{draw.whole(0, 4095):06d}.tar", draw.pick(cluster.targets)
        said = f"slow read: {draw.between(19, 48):.1f} s to the first byte of {node.url(0)}/v1/objects/{stage.bucket}"
        stage.job.note(late, other, f"{said}/{shard}", "W", 80)
    loader_timed_out(stage, at + seconds(limit) + draw.span(3, 40), rank, limit)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("data_loading_stall", stage.victim, also=("storage_io", "network")))
    return stage.close(
        "Shards of gigabytes were never prefetched; each first reader of one waits until all of it is here.", (made,)
    )


@kind(reads=True, min_timeout_s=90, ais_order=410, without=("disk_busy",))
def disks_that_seek(stage: Stage) -> Scenario:
    """A target of slow disks sends its entries late, and who assembles is blamed (NVIDIA/aistore docs/get_batch)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("seek"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 33_000), f"the disks of {victim.name} do nothing but seek")
    over = at + seconds(20.02) + draw.span(1, 60)
    strain.seeks(cluster, victim, began, at + seconds(min(stage.params.timeout_s, 120) + 20), draw)
    for turn, other in enumerate(readers(stage)[:5]):
        late = at - seconds(5) + seconds(4.5 * turn) + draw.span(1, 900)
        node, waited = stage.other_target(victim, draw.whole(0, 99)), draw.between(7, 19.4)
        cluster.count(node, late, getbatch_n=1, getbatch_obj_n=48, getbatch_rxwait_ns=seconds(waited - 1))
        said = f"batch of 48 took {waited:.1f} s ({node.url(0)}, {cluster.wid(stage.proxy_of(other), draw)})"
        stage.job.note(late, other, said, "W", 80)
    node, wid = stage.other_target(victim, draw.whole(0, 99)), cluster.wid(proxy, draw)
    text = strain.entry_missing(cluster, node, over, wid, draw.whole(4, 44))
    stage.job.raise_on(over + 8 * MS, rank, assembly_failed(stage, rank, node, wid, text)[1])
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "The oldest host of the cluster has spinning disks, and members are read out of shards at random.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
    )


@kind(reads=True, min_timeout_s=120, ais_order=450, lead_s=60.0)
def batches_pile_up(stage: Stage) -> Scenario:
    """Too many batches are pending on all targets: 429 for one rank (NVIDIA/aistore docs/monitoring-get-batch)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw, proxy = stage.draw.child("pile up"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(19_000, 41_000), "another job asks for batches of a thousand entries")
    strain.batches_pile_up(cluster, began, at + seconds(110), draw)
    for _ in range(draw.whole(5, 14)):
        then, node = began + int((at + seconds(90) - began) * draw.between(0.3, 1)), draw.pick(cluster.targets)
        other = draw.pick(cluster.proxies)
        strain.too_many_pending(cluster, node, other, then, cluster.wid(other, draw), draw.whole(256, 261))
    for after in TRIES_S:
        node, wid = draw.pick(cluster.targets), cluster.wid(proxy, draw)
        strain.too_many_pending(cluster, node, proxy, at + seconds(after) + draw.span(1, 9), wid, draw.whole(256, 261))
    failed = chains.too_many_requests(stage, rank)
    stage.job.raise_on(at + seconds(TRIES_S[-1]) + 14 * MS, rank, failed.traceback)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall",)))
    return stage.close("An evaluation of a whole corpus was begun with a thousand workers.", (made,))


@kind(reads=True, min_timeout_s=120, lead_s=60.0)
def source_egress_capped(stage: Stage) -> Scenario:
    """The store behind gives no more bytes a second: 429 for cold reads (gcs-connector-for-pytorch PR 48)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("egress")
    region = draw.pick(("us-central1", "europe-west4", "asia-southeast1"))
    stage.open()
    began = stage.mark(at - draw.span(4_000, 30_000), "the quota of the project for egress is used up")
    then = began
    while then < at + seconds(100):
        node = draw.pick(cluster.up(then))
        if draw.chance(0.55):
            strain.egress_capped(cluster, node, then, utterance(draw, "raw"), region)
        else:
            spent = draw.span(700, 9_000)
            cluster.count(node, then, gcp_get_n=1, gcp_get_ns_total=spent, gcp_get_size=draw.whole(1, 9) << 24)
        then += draw.span(700, 4_100)
    for other, after in zip(readers(stage), (-3.1, 4.4, 9.9), strict=False):
        name, late = utterance(draw, "raw"), at + seconds(after) + draw.span(1, 900)
        if late > began:
            stage.job.note(late, other, f"{name} came after {draw.between(6, 24):.1f} s, 2 answers of 429", "W", 84)
    name = utterance(draw, "raw")
    for after in TRIES_S:
        strain.egress_capped(cluster, victim, at + seconds(after) + draw.span(2, 30), name, region)
    status_repeated(stage, rank, victim, name, 429)
    stage.hang(at + 340 * MS, rank)
    made = of_all(stage.guilty("storage_io", victim, also=("data_loading_stall", "network")))
    return stage.close("A copy between regions was begun in the same project and takes what there is.", (made,))


@kind(trains=False, hangs=False, lead_s=60.0)
def index_never_arrives(stage: Stage) -> Scenario:
    """A target hangs: one rank of a host waits for an index, the others for it (mosaicml/streaming issue 759)."""
    cluster, victim, job = stage.cluster, stage.victim, stage.job
    draw, own = stage.draw.child("index"), stage.job.job
    job.start()
    at = job.begin + draw.span(200, 1_900)
    stopped = stage.mark(at - draw.span(50, 4_000), f"{victim.name} hangs")
    folder = f"/tmp/streaming/{stage.bucket}/train"
    job.note(at, 0, f"StreamingDataset: remote s3://{stage.bucket}/mds/train, local {folder}", line=166)
    begun = at + SEC
    firsts = []
    for node in range(len(own.hosts)):
        others = [rank for rank in own.ranks_of(node) if own.local_rank(rank)]
        speakers = others if own.world <= 64 else others[:1]
        for rank in speakers:
            waited = 60.0 + draw.between(0.011, 0.081)
            index_too_late(stage, begun + seconds(waited) + draw.span(1, 700), rank, folder, waited)
        if others:
            firsts.append(Exit(others[0], begun + seconds(60.9), 1))
    over = begun + seconds(61.2)
    until = over + draw.span(15_000, 70_000)
    faults.stop(cluster, victim, stopped, until)
    faults.leave_smap(cluster, victim, stopped, hung=True)
    ended = job.agents_end(firsts, over)
    back = faults.resume(cluster, victim, max(until, ended) + 2 * MS)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "software"))
    return stage.close(
        "The host of a target stands still for a firmware update of its disks; the index of the corpus lies there.",
        (replace(made, culprit_ranks=None),),
        until=back + seconds(5),
    )
