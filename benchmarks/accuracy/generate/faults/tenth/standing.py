"""Faults around a job that make it stand still, of the tenth part: a host that is stopped, a pipe, memory."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, py_spy
from benchmarks.accuracy.generate.faults.tenth import unrest
from benchmarks.accuracy.generate.faults.tenth.training import standing_in, watched
from benchmarks.accuracy.generate.faults.words.beside import beside
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from benchmarks.accuracy.generate.faults.words.commotion import rebalance_running
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, SEC, local, seconds
from fixtures.generator.stage import Stage

kind = kinds_of("training", "tenth")

#: Who writes a line, the innermost frame first.
WRITES = (
    (
        ("flush", f"{PYTHON}/logging/__init__.py", 1104),
        ("emit", f"{PYTHON}/logging/__init__.py", 1118),
        ("handle", f"{PYTHON}/logging/__init__.py", 978),
        ("_log", f"{PYTHON}/logging/__init__.py", 1634),
    ),
    (
        ("fp_write", f"{PYTHON}/site-packages/tqdm/std.py", 451),
        ("display", f"{PYTHON}/site-packages/tqdm/std.py", 1495),
        ("update", f"{PYTHON}/site-packages/tqdm/std.py", 1242),
        ("report", "/workspace/asr/progress.py", 31),
    ),
)


def _kernel(stage: Stage, at: int, node: int, text: str) -> None:
    """A line of a host's kernel, as a monitor copies it into the log of the job."""
    stage.job.agent(at, node, f"node-monitor: [{local(at, stage.job.job.zone):%a %b %e %H:%M:%S %Y}] {text}")


@kind(hangs=False, hosts=2)
def machine_moved(stage: Stage) -> Scenario:
    """A virtual host is stopped to be moved to another machine: for longer than the others wait it does nothing."""
    stage.open()
    beside(stage, rebalance_running)
    job, at, draw = stage.job, stage.at, stage.draw.child("moved")
    node = job.job.node_of(stage.culprit)
    ranks = tuple(job.job.ranks_of(node))
    stage.mark(at, f"host {job.job.hosts[node]} is stopped")
    if draw.chance(0.4):
        event = draw.pick(
            (
                "google_metadata_script_runner: maintenance-event: MIGRATE_ON_HOST_MAINTENANCE",
                "cloud-agent: scheduled event Freeze, status Started",
            )
        )
        watched(stage, at - seconds(draw.between(4, 40)), node, event)
    ended = stage.hang(at + 30 * MS, *ranks)
    job.lines = [line for line in job.lines if line.rank not in ranks or line.at <= at]
    woken = min((line.at for line in job.lines if line.node == node and line.at > at), default=ended) - 400 * MS
    slept = woken - at
    near = slept + draw.span(-2, 2) // 1_000
    _kernel(
        stage,
        woken,
        node,
        f"clocksource: Long readout interval, skipping watchdog check: cs_nsec: {slept} wd_nsec: {near}",
    )
    if draw.chance(0.6):
        stuck = f"CPU#{draw.whole(0, 95)} stuck for {slept // SEC}s! [python3:{job.job.rank_pids[ranks[0]]}]"
        _kernel(stage, woken + 20 * MS, node, f"watchdog: BUG: soft lockup - {stuck}")
    if draw.chance(0.5):
        watched(stage, woken + 90 * MS, node, f"chronyd[902]: Forward time jump detected! ({slept / SEC:.3f} s)")
    also = ("rank_hang", "network")
    return stage.close("A provider needs the machine beneath.", (stage.innocent("infrastructure", *ranks, also=also),))


@kind()
def nobody_reads_the_pipe(stage: Stage) -> Scenario:
    """What collects the output of a rank reads no more of it: the rank waits in the middle of a line for room."""
    stage.open()
    beside(stage, unrest.peer_reconnects)
    job, rank, at, draw = stage.job, stage.culprit, stage.at, stage.draw.child("pipe")
    node = job.job.node_of(rank)
    stage.mark(at, f"the output of rank {rank} is not read any more")
    if draw.chance(0.6):
        why = draw.pick(
            (
                "[warn] [input] tail.0 paused (mem buf overlimit)",
                "[error] [output:kafka:kafka.0] fluent-bit: broker is down, retry in 61 s",
            )
        )
        watched(stage, at - draw.span(900, 9_000), node, f"fluent-bit[901]: {why}")
    writes = draw.pick(WRITES)
    threads = (
        standing_in(stage, 175, *writes),
        Thread("Thread-2 (_pin_memory_loop)", (("poll", f"{PYTHON}/multiprocessing/connection.py", 257),)),
        Thread("ais-prefetch_0", (("put", f"{PYTHON}/queue.py", 140), ("_fill", "/workspace/asr/prefetch.py", 66))),
    )
    after = min(draw.between(22, 44), job.job.timeout_s - 9)
    py_spy(stage, after, threads)
    if draw.chance(0.5):
        pipe = f"pipe_write, fd 1 -> pipe:[{draw.whole(40_000, 9_000_000)}]"
        said = f"check[881]: pid {job.job.rank_pids[rank]} waits in {pipe}"
        watched(stage, at + seconds(after) + 300 * MS, node, said)
    stage.hang(at + 40 * MS, rank)
    also = ("rank_hang", "software")
    return stage.close(
        "A collector of logs waits for its own server.", (stage.innocent("infrastructure", rank, also=also),)
    )


@kind(hangs=False, hosts=2)
def memory_held_back(stage: Stage) -> Scenario:
    """A group of processes is above what it should have of memory: the kernel lets all ranks of a host wait for it."""
    stage.open()
    beside(stage, unrest.repeated_until_now)
    job, at, draw = stage.job, stage.at, stage.draw.child("held back")
    node = job.job.node_of(stage.culprit)
    host, ranks = job.job.hosts[node], tuple(job.job.ranks_of(node))
    began = stage.mark(at - draw.span(700, 4_000), f"processes on {host} are above memory.high")
    high, events = draw.pick((512, 768, 900)), draw.whole(2_000, 90_000)
    group = f"/system.slice/slurmstepd.scope/job_{job.job.job_id}/step_0"
    group = group if job.job.job_id.isdigit() else "/kubepods.slice/kubepods-burstable.slice"
    full = 30.0
    for after in (0.0, 10.0, 25.0, 55.0, 115.0):
        if after < job.job.timeout_s - 4:
            events, full = events + draw.whole(4_000, 40_000), min(99.0, full + draw.between(12, 30))
            said = f"check[881]: {group}: memory.current {high}.2G, memory.high {high}G (events {events}), "
            watched(stage, began + seconds(after), node, f"{said}pressure full avg10={full:.2f}, swap 0")
    for rank in (stage.culprit, ranks[0])[: draw.whole(0, 2)]:
        batch = draw.between(0.02, 0.2)
        for after in (20.0, 45.0):
            said = f"step {stage.step} has taken {after:.0f} s: batch {batch:.2f} s, then memory of the host"
            job.note(at + seconds(after) + draw.span(10, 90), rank, said, "W", 140, "pace")
    stage.hang(at + 30 * MS, *ranks)
    also = ("rank_hang", "software")
    return stage.close(
        "Gradients are kept on the host for a while, and a limit is soft.",
        (stage.innocent("infrastructure", *ranks, also=also),),
    )
