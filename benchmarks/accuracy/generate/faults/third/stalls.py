"""Storage faults of the third part that say little: a slow backend, no processor, eviction, a batch that stops."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered, object_path, unanswered
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aisevents as ev
from fixtures.generator import aisobjects, chains, sdk
from fixtures.generator.aislog import Say
from fixtures.generator.model import Node, Scenario
from fixtures.generator.moment import MINUTE, MS, SEC, go_duration, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "third")


@kind(reads=True, uptime=True)
def backend_slow(stage: Stage) -> Scenario:
    """Cold reads take longer than the client waits; no node prints a line, counters grow when a read is done."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("slow backend")
    stage.open()
    aisobjects.cold_gets(cluster, stage.job.begin + SEC, at - seconds(21), 2.5, 40, 210, draw.child("before"))
    began = stage.mark(at - seconds(20), "the backend becomes slow")
    over = at + seconds(stage.params.timeout_s)
    aisobjects.cold_gets(cluster, began, min(over, at + seconds(200)), 2.5, 24_000, 71_000, draw.child("after"))
    unanswered(stage, rank, draw, victim, object_path(stage, rank, utterance(draw)), over=over)
    stage.hang(at + 340 * MS, rank)
    made = replace(stage.guilty("data_loading_stall", victim, also=("storage_io", "network")), ais_nodes=None)
    return stage.close(
        "An object that is not in the cluster yet comes from a bucket of S3, which answers after half a minute.",
        (made,),
    )


@kind(reads=True, ais_order=410)
def starved_sender(stage: Stage) -> Scenario:
    """A target has no processor time left: it lives, answers keepalives and sends its entries far too late."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    designated, draw = stage.other_target(victim), stage.draw.child("starved")
    stage.open()
    began = stage.mark(at - seconds(6.2), f"{victim.name} has no processor time left")
    over = at + seconds(stage.params.timeout_s)
    aisobjects.no_processor(cluster, victim, began, over + seconds(30), draw)
    then = at + seconds(20.02)
    for attempt in range(3):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, 2.0**attempt + 0.5), 2)
        wid = chains.read_timed_out(stage, then, designated, rank, wait)
        _hole(stage, designated, wid, then + draw.span(40, 800), draw.whole(3, 40))
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, designated)
    stage.hang(at + 350 * MS, rank)
    made = stage.guilty("data_loading_stall", victim, also=("storage_io",))
    is_tied = designated.release.control_channel
    return stage.close(
        "Another pod takes the processors of one target's host; the batches that need its objects wait for it.",
        (made if is_tied else replace(made, ais_nodes=None),),
        () if is_tied else ("before 4.5 no line ties a batch to the senders it waits for",),
    )


def _hole(stage: Stage, designated: Node, wid: str, at: int, index: int) -> None:
    """The designated target gives up on an entry, and says so where its release says such things."""
    cluster, xact = stage.cluster, stage.cluster.xact
    if xact is None or not designated.release.control_channel:
        return
    error = ev.timed_out(designated, xact, wid, index)
    cluster.say(designated, at, ev.bcast_abort(designated, xact, error))
    late = ev.senders_late(xact, 1, len(cluster.targets) - 1, stage.draw.child("late", wid).span(30_100, 34_000))
    cluster.say(designated, at + seconds(11.4), late)


@kind(reads=True, lead_s=118.0)
def evicted_in_use(stage: Stage) -> Scenario:
    """A full target evicts objects that were not read for two hours; the epoch needs them still."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("evicted")
    stage.open()
    began = stage.mark(at - seconds(71), f"{victim.name} begins to evict objects of ais://{stage.bucket}")
    aisobjects.evict(cluster, victim, began, at - seconds(9), draw)
    then = at
    for attempt in range(2):
        designated = stage.other_target(victim, attempt)
        failed = chains.missing_entry(stage, then, designated, victim, utterance(draw), draw.whole(2, 7))
        stage.job.note(then + 8 * MS, rank, f"get-batch failed ({failed.error}), retrying {attempt + 1}/2", "W", 96)
        then += seconds(1.5 * 2**attempt)
    last = chains.missing_entry(stage, then, stage.other_target(victim, 2), victim, utterance(draw), draw.whole(2, 7))
    stage.job.raise_on(then + 9 * MS, rank, last.traceback)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "LRU is on for a bucket that has no backend: what a full target evicts is lost. One epoch takes longer than "
        "the two hours an object is spared.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall")),),
    )


def _stream_times_out(stage: Stage, at: int, node: Node) -> None:
    """An answer that has begun stops: urllib3's error comes up as it is, without URL and without a retry."""
    job, site = stage.job.job, stage.job.job.build["site"]
    where = f"HTTPConnectionPool(host='{node.address}', port={node.ports[0]}): Read timed out."
    inner = (
        sdk.Frame(job.script, 61, "fetch", "info, content = next(items)", True),
        sdk.Frame(
            f"{site}/aistore/sdk/batch/extractor/archive_stream_extractor.py", 96, "extract", "for member in tar:"
        ),
        sdk.Frame(
            f"{site}/urllib3/response.py", 1096, "stream", "data = self.read(amt=amt, decode_content=decode)", True
        ),
    )
    text = f"urllib3.exceptions.ReadTimeoutError: {where}"
    stage.job.raise_on(at, stage.culprit, sdk.traceback(sdk.Raised(sdk.main_frames(job, stage.step, *inner), text)))


@kind(reads=True, ais_order=460)
def mover_closes(stage: Stage) -> Scenario:
    """A target closes its data mover although a batch needs it: all that the others send to it is dropped."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("mover")
    stage.open()
    xact = cluster.xact
    began = stage.mark(at - 120 * MS, f"{victim.name} closes its data mover")
    until = at + seconds(min(stage.params.timeout_s, 120))
    idle = f"{draw.whole(7, 9)}.{draw.whole(10, 99)}s"
    head = f"closing shared-dm[approx. num-receivers: 1, idle approx.: {idle}]"
    if xact is not None:
        cluster.say(victim, began, Say("W", "shared_dm:271", f"{head} despite xid {xact.xid} is still active"))
    then = began + draw.span(70, 150)
    for _ in range(draw.whole(4, 10)):
        cluster.say(victim, then, Say("W", "shared_dm:296", "shared-dm is closed (dropping all Rx)"))
        then += draw.span(0.4, 90)
    wid = cluster.wid(stage.proxy_of(rank), draw)
    _stream_times_out(stage, at + seconds(20.03), victim)
    late = at + seconds(20.03) + draw.span(300, 2400)
    if xact is not None:
        work = ev.Work(wid, late - at, 4, 4 * 17_160, neighbours=5, neighbour_errors=1)
        gone = ev.broken_pipe(xact, victim, stage.client(rank))
        cluster.say(victim, late, gone, ev.bcast_abort(victim, xact, ev.BENIGN), ev.work_error(xact, ev.BENIGN, work))
    cluster.count(
        victim, late, getbatch_n=1, getbatch_obj_n=4, err_getbatch_n=1, getbatch_gfn_n=5, err_gfn_getbatch_n=1
    )
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A target takes its data mover for idle and closes it while batches run; it waits for entries it throws away.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
        until=until,
    )


@kind(reads=True, ais_order=460)
def assembly_wedged(stage: Stage) -> Scenario:
    """A work item gets stuck inside its designated target; the node says so minutes later, when it cleans up."""
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("wedged")
    stage.open()
    xact, wid = cluster.xact, cluster.wid(stage.proxy_of(rank), draw)
    stage.mark(at, f"work item {wid} of rank {rank} gets stuck at {victim.name}")
    _stream_times_out(stage, at + seconds(20.02), victim)
    ages = (90 * SEC + draw.span(20, 900), 5 * MINUTE + draw.span(200, 29_000))
    if xact is not None:
        spent = f"{go_duration(ages[0])} >= 1m30s"
        waits = f'wi.quiesce timed out waiting for inRx to drain [{xact.name}, "{wid}", {spent}]'
        cluster.say(victim, at + ages[0], Say("E", "moss:1380", waits))
        wedged = f'{xact.name} wedged asm for wi "{wid}", age {go_duration(ages[1])}'
        cluster.say(victim, at + ages[1], Say("E", "moss:2430", wedged))
    cluster.count(victim, at + ages[1], getbatch_n=1, getbatch_obj_n=11, err_getbatch_n=1)
    stage.hang(at + 350 * MS, rank)
    return stage.close(
        "A batch is assembled by a target that takes no step further, for a lock that is never given back.",
        (stage.guilty("data_loading_stall", victim, also=("storage_io",)),),
        until=at + ages[1] + seconds(15),
    )
