"""Guilty storage of the thirty-second part: get-batch waits for a target that is stopped, dark, busy or gone in order.

The docstring of a kind says where it is from, and which lines convict.
"""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import main_thread, py_spy
from benchmarks.accuracy.generate.faults.words.callers import loader_timed_out
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import entry_failed
from benchmarks.accuracy.generate.faults.words.requests import batch_unanswered
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.tries import client_told, other_targets
from benchmarks.accuracy.generate.faults.words.turns import RESTARTS, over_at
from benchmarks.accuracy.generate.kinds import kinds_of
from benchmarks.accuracy.generate.scene import DISKS, readers
from fixtures.generator import aisassemblies, aisdisk, aisobjects, chains, sdk
from fixtures.generator import aisevents as ev
from fixtures.generator import aisfailings as failings
from fixtures.generator import aisfaults as faults
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirty_second")
ALSO = ("storage_io", "infrastructure")
ALIVE = ("the rank that raised stays alive in a non-daemon thread, as in the recorded runs",)
NOISE = (*RESTARTS, "kalive_hiccup")
#: Noise of objects that are missing for reasons of their own.
MISSING = ("mountpath_before", "tenant_errors", "soft_errors")


def _for_an_answer(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that has asked for a batch by requests and has no status yet, the innermost first."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    return (
        ("readinto", f"{PYTHON}/socket.py", 718),
        ("_read_status", f"{PYTHON}/http/client.py", 286),
        ("begin", f"{PYTHON}/http/client.py", 325),
        ("getresponse", f"{PYTHON}/http/client.py", 1395),
        *_sent(stage),
        ("get", f"{site}/aistore/sdk/batch/batch.py", 357),
        ("fetch", script, 57),
        ("next_batch", script, 94),
    )


def _sent(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames from urllib3 up to the SDK's request."""
    site = stage.job.job.build["site"]
    return (
        ("getresponse", f"{site}/urllib3/connection.py", 565),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 534),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 787),
        ("send", f"{site}/requests/adapters.py", 667),
        ("send", f"{site}/requests/sessions.py", 703),
        ("request", f"{site}/requests/sessions.py", 589),
        ("request_op", f"{site}/aistore/sdk/request_client.py", 222),
        ("__call__", f"{site}/tenacity/__init__.py", 480),
        ("with_retry", f"{site}/aistore/sdk/retry_manager.py", 88),
        ("request", f"{site}/aistore/sdk/request_client.py", 231),
    )


@kind(reads=True, ais_order=450, lead_s=64.0, without=(*NOISE, "soft_errors"))
def loader_times_out_over_a_stopped_sender(stage: Stage) -> Scenario:
    """A DataLoader's timeout of 30 s ends while a batch lacks the entries of a stopped target (SIGSTOP; torch docs).

    To convict: the error of the rank speaks of its DataLoader only. In these seconds one target writes and counts
    nothing, the primary cannot reach it and removes it later; another one tells that this sender did not acknowledge
    the start of a batch, and aborts that at the removal, at an age that begins with the rank's last step.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("loader")
    client_told(stage, "AISBatchIterDataset(max_batch_size=48, streaming=True), DataLoader(num_workers=4, timeout=30)")
    stage.open()
    over = at + seconds(30) + draw.span(20, 400)
    stopped = stage.mark(at - draw.span(20, 300), f"SIGSTOP {victim.name}")
    resumed = stopped + draw.span(78_000, 96_000)
    faults.stop(cluster, victim, stopped, resumed)
    designated, wid = draw.pick(other_targets(stage, stopped)), cluster.wid(stage.proxy_of(rank), draw)
    late = draw.span(30_900, 33_400)
    if cluster.xact is not None:
        senders = len(cluster.targets) - 1
        cluster.say(designated, at + late, ev.senders_late(cluster.xact, 1, senders, late))
    left = faults.leave_smap(cluster, victim, stopped, hung=True)
    aborted = left + draw.span(300, 2_400)
    aisassemblies.ends_early(cluster, designated, aborted, wid, draw.whole(2, 30), aborted - at, asked=1)
    loader_timed_out(stage, over, rank, 30)
    stage.hang(at + 330 * MS, rank)
    stage.mark(resumed, f"SIGCONT {victim.name}")
    back = faults.resume(cluster, victim, resumed + 2 * MS)
    return stage.close(
        "Its process had been stopped for a copy of its memory, which took longer than was thought.",
        (stage.guilty("data_loading_stall", victim, also=ALSO),),
        ALIVE,
        until=back + seconds(55),
    )


@kind(reads=True, ais_order=450, lead_s=62.0, without=(*NOISE, "soft_errors"))
def rank_waits_for_an_assembler_that_lost_its_power(stage: Stage) -> Scenario:
    """The host of a target goes dark; nobody closes the connection of a rank that has no read timeout (tcp(7), SDK).

    To convict: the rank prints nothing and its stack waits for the status of a batch. The log of one target breaks off
    in the second of the others' hang; peers that connect to it get no answer, then no route, and the primary removes
    it after 40 s. It does not come back.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("dark")
    client_told(stage, "get-batch: 48 entries, buffered, Client(timeout=None)")
    stage.open()
    died = stage.mark(at + draw.span(8, 60), f"the host of {victim.name} has no power")
    left = faults.leave_smap(cluster, victim, died, hung=True)
    peers = [one for one in cluster.targets if one is not victim]
    aisobjects.lose_host(cluster, victim, died, left, draw.shuffled(peers)[: draw.whole(1, 3)])
    py_spy(stage, min(draw.between(26, 48), stage.params.timeout_s - 10), (main_thread(stage, *_for_an_answer(stage)),))
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "A fuse of the rack had blown, and half of its supplies were in the wrong socket.",
        (stage.guilty("data_loading_stall", victim, also=("network", *ALSO)),),
        until=left + seconds(60),
    )


@kind(reads=True, ais_order=450, lead_s=72.0, without=(*RESTARTS, *DISKS, "tenant_rejected"))
def resilver_of_a_new_disk_holds_up_what_its_target_sends(stage: Stage) -> Scenario:
    """A disk is attached by day, the resilver takes all disks of its target (aistore docs, resilver; get_batch).

    To convict: reads of a batch time out after 20 s at one target after another, each of them well, as the client does
    not wait longer than they do for an entry. One target alone has its disks at their limit in these seconds: it began
    to resilver just before, for a mountpath that was attached. Steps before had waited for late batches of others.
    """
    cluster, victim, rank, job = stage.cluster, stage.victim, stage.culprit, stage.job
    draw = stage.draw.child("resilver")
    client_told(stage, "get-batch: 48 entries, streaming, SDK timeouts of 3 s and 20 s")
    others = readers(stage)[: draw.whole(2, 4)]
    first = stage.step - len(others)
    stage.open(until_step=first)
    since = stage.mark(job.step_at(first) - draw.span(2_000, 6_000), f"a disk is attached to {victim.name}")
    waits = {first + turn: draw.between(6, 17) for turn in range(len(others))}
    for one, (step, waited) in zip(others, waits.items(), strict=True):
        then = job.step_at(step) + 40 * MS + seconds(waited)
        node = draw.pick(other_targets(stage, then))
        cluster.count(node, then, getbatch_n=1, getbatch_obj_n=48, getbatch_rxwait_ns=seconds(waited - 1))
        told(stage, then, one, "reader", f"batch of 48 took {waited:.1f} s at {node.url(0)}", "WARNING")
        job.delay(step, seconds(waited))
        stage.at += seconds(waited)
    job.train(first, stage.step, slow=waits)
    at, over = stage.at, over_at(stage)
    until = over + seconds(30)
    failings.resilver_at_length(cluster, victim, since, until, draw.child("job"))
    then, node = at + seconds(20.02), victim
    for turn in range(6):
        if then >= over - SEC:
            break
        wait = round(draw.between(1.0, min(30.0, 2.0**turn + 0.5)), 2)
        node = draw.pick(other_targets(stage, then))
        chains.read_timed_out(stage, then, node, rank, wait)
        then += seconds(wait) + seconds(20.02)
    if then < over - SEC:
        batch_unanswered(stage, then, rank, node)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "The new drive had been lying there for a week, and somebody had an hour.",
        (stage.guilty("data_loading_stall", victim, also=ALSO),),
        ALIVE,
        until=until,
    )


@kind(reads=True, ais_order=450, lead_s=68.0, without=(*RESTARTS, "tenant_rejected"))
def urllib3_waits_in_silence_for_a_target_without_memory(stage: Stage) -> Scenario:
    """Colocated batches go to one target without free memory; urllib3 repeats a 429 without a line (SDK, http_retry).

    To convict: the rank prints nothing, its stack sleeps between tries of urllib3. The proxy hands on a 429 for one
    target at 0, 0, 6, 18, 42 and 90 s of the hang, and that target, and no other, has alerts for its memory since
    before. Batches of ranks whose shards lie elsewhere are taken.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw, over = stage.draw.child("memory"), over_at(stage)
    site, script = stage.job.job.build["site"], stage.job.job.script
    client_told(stage, "get-batch: 48 members of one shard, streaming, colocation 1")
    stage.open()
    since = stage.mark(at - draw.span(11_000, 26_000), f"{victim.name} is short of memory")
    aisdisk.memory_pressure(cluster, victim, since, over + seconds(20), "extreme", draw.child("alerts"))
    advice = ev.advice("critical", "100ms", "critical", "low", "low")
    asked = 0
    for after in (0.0, 0.006, 6.02, 18.04, 42.05, 90.07):
        then = at + seconds(after) + draw.span(2, 7)
        if then < over - SEC:
            chains.reject(stage, then, victim, rank, advice, draw.whole(9, 40))
            asked += 1
    slept = (
        ("_sleep_backoff", f"{site}/urllib3/util/retry.py", 359),
        ("sleep", f"{site}/urllib3/util/retry.py", 373),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 945),
        *[("urlopen", f"{site}/urllib3/connectionpool.py", 955)] * 3,
        *_sent(stage)[3:],
        ("get", f"{site}/aistore/sdk/batch/batch.py", 357),
        ("fetch", script, 57),
        ("next_batch", script, 94),
    )
    py_spy(stage, draw.between(24, 40), (main_thread(stage, *slept),))
    if asked == 6:
        failed = chains.too_many_requests(stage, rank)
        stage.job.raise_on(at + seconds(90.1), rank, failed.traceback)
    stage.hang(at + 330 * MS, rank)
    return stage.close(
        "A second program on that host had been given no limit.",
        (stage.guilty("data_loading_stall", victim, also=ALSO),),
        ALIVE,
        until=over + seconds(20),
    )


@kind(reads=True, hangs=False, ais_order=430, lead_s=62.0, without=(*NOISE, *MISSING))
def stopped_target_is_not_named_by_those_that_miss_its_entries(stage: Stage) -> Scenario:
    """A target is stopped in order and its objects have no copy; a data set raises (aistore.pytorch; docs/lifecycle).

    To convict: entries of batches do not exist, as several targets say that have become their owners; samples are
    left out by other ranks from the same second on, and not before. In that second one target took itself out of the
    map on a signal, and nothing else has changed. The text of an entry names an owner, never the one that left.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("in order")
    client_told(stage, "AISBatchIterDataset(max_batch_size=36, streaming=False), skip_on_error for noise only")
    stage.open()
    down = stage.mark(at - draw.span(5_200, 9_000), f"systemctl stop ais-target on the host of {victim.name}")
    faults.terminate(cluster, victim, down)

    def missed(then: int, name: str) -> str:
        owner, designated = (draw.pick(other_targets(stage, then)) for _ in range(2))
        chains.missing_entry(stage, then, designated, owner, name, draw.whole(1, 7))
        return sdk.missing_object(owner, stage.bucket, name)

    for one in readers(stage)[: draw.whole(2, 6)]:
        then = down + draw.span(150, 4_900)
        name = f"noise/{utterance(draw).split('/', 1)[1]}"
        text = missed(then, name)
        told(stage, then, one, "batch_iter_dataset", f"Skipping {name}: {text}", "WARNING")
    name = utterance(draw)
    entry_failed(stage, at, rank, name, missed(at - 3 * MS, name))
    leaves(stage, at + 8 * MS, rank)
    back = stage.mark(at + draw.span(95_000, 130_000), f"{victim.name} is started again")
    joined = faults.start_again(cluster, victim, back)
    return stage.close(
        "A fan of that host was to be changed, which the calendar had for the evening.",
        (stage.guilty("storage_io", victim, also=("data", "data_loading_stall", "infrastructure")),),
        until=joined + seconds(60),
    )
