"""Storage faults of the fourteenth part of targets and proxies that live and do not answer, or come and go."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.tenth.training import exits
from benchmarks.accuracy.generate.faults.words.aftermaths import passed_over
from benchmarks.accuracy.generate.faults.words.callers import msc_missing
from benchmarks.accuracy.generate.faults.words.clients import TRIES_S
from benchmarks.accuracy.generate.faults.words.doorways import assembly_failed
from benchmarks.accuracy.generate.faults.words.requests import object_path
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, of_all, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import readers
from fixtures.generator import aisdaily as daily
from fixtures.generator import aisdisk as disk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfaults as faults
from fixtures.generator import aisgates as gates
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator import aisstrain as strain
from fixtures.generator.draw import Draw
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "fourteenth")
STILL = (*RESTARTS, "kalive_hiccup")


@kind(reads=True, lead_s=60.0, without=STILL)
def reader_without_timeout(stage: Stage) -> Scenario:
    """A target hangs, and readers wait on an open connection for ever without a word (NeMo Speech PR 15612)."""
    cluster, victim, at = stage.cluster, stage.victim, stage.at
    draw = stage.draw.child("no timeout")
    stage.open()
    since = stage.mark(at - draw.span(20, 700), f"{victim.name} stands still, its connections stay open")
    faults.stop(cluster, victim, since, since + seconds(4_000))
    faults.leave_smap(cluster, victim, since, hung=True)
    absent = sorted([stage.culprit, *readers(stage)[: draw.whole(0, 2)]])
    stage.hang(at + 340 * MS, *absent)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "network"))
    return stage.close(
        "The kernel of the host waits for a controller; connections need nobody to stay open.",
        (replace(made, culprit_ranks=tuple(absent)),),
    )


def _given_up_for_memory(stage: Stage, rank: int, draw: Draw) -> int:
    """The culprit's batch is turned away six times, each time by whichever target was to assemble it; when it ends."""
    for after in TRIES_S:
        node, then = draw.pick(stage.cluster.targets), stage.at + seconds(after) + draw.span(2, 20)
        chains.reject(stage, then, node, rank, _no_memory(), draw.whole(9, 44))
    over = stage.at + seconds(TRIES_S[-1]) + draw.span(24, 60)
    stage.job.raise_on(over, rank, chains.too_many_requests(stage, rank).traceback)
    return over


def _no_memory() -> str:
    return ev.advice("critical", "100ms", "critical", "low", "low")


@kind(reads=True, hangs=False, min_timeout_s=120, ais_order=410, lead_s=60.0)
def no_memory_for_batches(stage: Stage) -> Scenario:
    """Targets are short of memory and admit no batch: 429 until a client ends (aistore docs/get_batch, admission)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("memory")
    stage.open()
    began = stage.mark(at - draw.span(8_000, 24_000), "targets run short of memory")
    for node in cluster.targets:
        disk.memory_pressure(cluster, node, began + draw.span(1, 4_000), at + seconds(120), "high", draw)
    for other in readers(stage)[:5]:
        then, told = at - draw.span(1_000, 5_000), draw.whole(1, 3)
        for turn in range(told):
            node = draw.pick(cluster.targets)
            chains.reject(stage, then + seconds(TRIES_S[turn]), node, other, _no_memory(), draw.whole(9, 44))
        served = then + seconds(TRIES_S[told]) + draw.span(200, 1_900)
        said = f"get-batch of 48 entries took {(served - then) / SEC:.1f} s ({stage.proxy_of(other).url(0)})"
        stage.job.note(served, other, said, "W", 80)
    exits(stage, _given_up_for_memory(stage, rank, draw), rank)
    made = of_all(stage.guilty("storage_io", stage.victim, also=("data_loading_stall", "infrastructure")))
    return stage.close("Other pods of the hosts have no limits, and a build of images runs in them.", (made,))


@kind(reads=True, hangs=False, lead_s=170.0, without=STILL)
def removed_again_and_again(stage: Stage) -> Scenario:
    """A target answers no health checks for want of processors, leaves and comes back, twice (aistore issue 316)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("again")
    stage.open()
    first = stage.mark(at - draw.span(131_000, 142_000), f"{victim.name} gets no processor time")
    faults.stop(cluster, victim, first, first + seconds(46))
    left = faults.leave_smap(cluster, victim, first, hung=True)
    back = faults.resume(cluster, victim, first + seconds(46))
    cluster.start_batches(back + seconds(4), stage.other_target(victim))
    second = back + draw.span(12_000, 21_000)
    faults.stop(cluster, victim, second, at + seconds(240))
    faults.leave_smap(cluster, victim, second, hung=True)
    for other, after in zip(readers(stage)[:4], (0.2, 1.7, 3.0, 4.1), strict=False):
        name, then = utterance(draw), left + seconds(after) + draw.span(1, 700)
        owner = stage.other_target(victim, draw.whole(0, 99))
        aisobjects.not_there(cluster, owner, then, name)
        stage.job.note(then + 4 * MS, other, f"msc://train/{name} does not exist, trying again in 10 s", "W", 83)
    name, owner = utterance(draw), stage.other_target(victim, draw.whole(0, 99))
    missing = aisobjects.not_there(cluster, owner, at, name)
    msc_missing(stage, at + 4 * MS, rank, owner, name, missing)
    exits(stage, at + 6 * MS, rank)
    return stage.close(
        "Training and storage share the hosts; a prefetch of thousands of objects takes what the job leaves.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "infrastructure", "data")),),
    )


@kind(reads=True, hangs=False, ais_order=430, lead_s=60.0, without=STILL)
def entries_of_one_peer_lost(stage: Stage) -> Scenario:
    """A target's card drops what it sends to its peers; a batch lacks an entry (aistore docs/get_batch, recovery)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, proxy = stage.draw.child("peer"), stage.proxy_of(stage.culprit)
    stage.open()
    began = stage.mark(at - draw.span(19_000, 44_000), f"what {victim.name} sends to its peers is lost")
    gates.frames_dropped(cluster, victim, began, at + seconds(60), draw)
    for turn, other in enumerate(readers(stage)[:4]):
        node, entries = stage.other_target(victim, draw.whole(0, 99)), draw.whole(1, 2)
        then = at - seconds(3) + seconds(5 * turn) + draw.span(1, 900)
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=36, getbatch_gfn_n=entries)
        said = f"batch of 36 took {20 * entries + draw.between(0.1, 0.9):.1f} s ({node.url(0)}, "
        stage.job.note(then + 3 * MS, other, said + f"{cluster.wid(stage.proxy_of(other), draw)})", "W", 80)
    node, wid, over = stage.other_target(victim, draw.whole(0, 99)), cluster.wid(proxy, draw), at + seconds(20.02)
    text = strain.entry_missing(cluster, node, over, wid, draw.whole(3, 33))
    stage.job.raise_on(over + 6 * MS, rank, assembly_failed(stage, rank, node, wid, text)[1])
    exits(stage, over + 6 * MS, rank)
    return stage.close(
        "A neighbour has some of what is missing, from a rebalance of last month, and not all.",
        (stage.guilty("storage_io", victim, also=("data_loading_stall", "network")),),
    )


@kind(reads=True, proxies=2, hosts=2, off_primary=True, lead_s=60.0, without=STILL)
def proxy_held_to_a_share(stage: Stage) -> Scenario:
    """A proxy has a quota of processor time and redirects late: its hosts wait (kubernetes docs, limits)."""
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    proxy, draw, over = stage.proxy_of(rank), stage.draw.child("share"), over_at(stage)
    stage.open()
    began = stage.mark(at - draw.span(9_000, 25_000), f"{proxy.name} is held to a share of a processor")
    daily.held_to_a_share(cluster, proxy, began, over + seconds(30), draw)
    own = [one for one in readers(stage) if stage.proxy_of(one) is proxy]
    for turn, other in enumerate(own[:4]):
        late, spent = at - seconds(5) + seconds(6 * turn) + draw.span(1, 3_000), draw.between(6, 19)
        said = f"slow read: {spent:.1f} s, {spent - 0.2:.1f} s of it for the redirect by {proxy.url(0)}"
        stage.job.note(late, other, said, "W", 80)
    path = object_path(stage, rank, utterance(draw)).split("&pid")[0]
    text = sdk.pool_error(proxy.address, proxy.ports[0], path, sdk.read_timeout(proxy.address, proxy.ports[0]))
    then = at + seconds(20.02)
    for attempt in range(5):
        if then < over - SEC:
            wait = round(draw.between(0.8, 1) * min(30.0, 2.0**attempt + 0.5), 2)
            stage.job.sdk_warning(then, rank, sdk.retrying(wait, "ConnectionError", text))
            then += seconds(wait) + seconds(20.02)
    stage.hang(at + 340 * MS, rank)
    return stage.close(
        "A new default of the namespace gives every container half a processor that asks for none.",
        (stage.guilty("data_loading_stall", proxy, also=("storage_io", "network", "infrastructure")),),
    )


@kind(reads=True, lead_s=150.0, without=STILL)
def dropped_shards_end_an_epoch(stage: Stage) -> Scenario:
    """Shards are passed over while a target restarts; one rank is done too early (webdataset#308, #404)."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, job = stage.draw.child("epoch"), stage.job
    stage.open()
    down = stage.mark(at - draw.span(95_000, 121_000), f"the container of {victim.name} is killed")
    faults.kill(cluster, victim, down)
    faults.reconnects(cluster, victim, down, down + seconds(9))
    up = down + draw.span(9_000, 13_000)
    for who, many in ((rank, draw.whole(3, 5)), *((one, 1) for one in readers(stage)[: draw.whole(1, 3)])):
        then = down + draw.span(400, 1_900)
        for _ in range(many):
            shard, handle = f"shards/train-{draw.whole(0, 4095):06d}.tar", draw.token(10, "0123456789abcdef")
            if then < up:
                passed_over(stage, then, who, victim, shard, handle)
            then += draw.span(1_100, 1_900)
    joined = faults.start_again(cluster, victim, up)
    cluster.start_batches(joined + seconds(3.4), stage.other_target(victim))
    job.note(at, rank, f"epoch 0: no samples left after step {stage.step - 1}, waiting for the others", "W", 181)
    stage.hang(at + 340 * MS, rank)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io", "rank_hang", "software", "data"))
    return stage.close(
        "Epochs are as long as a rank's own shards; those that were passed over are missing at its end.", (made,)
    )
