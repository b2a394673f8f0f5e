"""Everyday set-ups of a job: ranks started again by their agents, tasks of plain srun, stacks and sockets at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.accuracy.generate.faults.eighth.stacks import Thread, dumped
from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from fixtures.generator import plainsrun
from fixtures.generator.model import LogFile, Node, Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage
from fixtures.generator.torchrun import Exit, closing, failed


def ranks_started_again(stage: Stage, at: int, rank: int) -> None:
    """A rank has exited: the agents end all others and print no table, as they have restarts left."""
    job, own, draw = stage.job, stage.job.job, stage.draw.child("started again")
    for node in range(len(own.hosts)):
        then = at + draw.span(80, 240)
        for one in own.ranks_of(node):
            if one != rank:
                job.agent(then, node, closing(own, node, one, then))
                then += MS
        if node == own.node_of(rank):
            then += draw.span(30, 90)
            job.agent(then, node, failed(own, node, Exit(rank, at, 1), then))


def next_attempt(stage: Stage, begin: int, step: int) -> None:
    """The next attempt begins with the step of a checkpoint; torchrun's banner stands above the first one only."""
    job = stage.job
    job.restart(begin, step)
    before = len(job.lines)
    job.start()
    job.lines[before:] = [line for line in job.lines[before:] if line.launcher != "agent"]
    job.note(begin - seconds(0.3), 0, f"Restored all states from the checkpoint at step={step - 1}", line=151)


def without_torchrun(stage: Stage) -> None:
    """The job that has hung was started by srun alone: nobody but srun speaks of its end, and each rank has a file."""
    job = stage.job
    plainsrun.ends_by_srun(job)
    job.files = lambda folder: plainsrun.files_of_tasks(job.job, job.lines, folder)  # type: ignore[method-assign]


def with_stacks(stage: Stage, made: Scenario, threads: Mapping[int, tuple[Thread, ...]]) -> Scenario:
    """Somebody has run py-spy on ranks before the watchdog spoke, and has put its output beside the logs."""
    own = stage.job.job
    found = []
    for rank, held in threads.items():
        rows = dumped(own, own.rank_pids[rank], f"-u {own.script}", held)
        found.append(LogFile(f"workers/stacks/rank{rank}.txt", ("\n".join(rows) + "\n").encode()))
    return replace(made, files=(*made.files, *found))


def in_a_collective(stage: Stage) -> tuple[Thread, ...]:
    """A rank that waits for its device, and so for the others."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    frames = (("synchronize", f"{site}/torch/cuda/__init__.py", 1083), ("main", script, 198), ("<module>", script, 212))
    return (Thread("MainThread", frames, "active"),)


def in_an_object_read(stage: Stage) -> tuple[tuple[str, str, int], ...]:
    """Frames of a rank that waits for the first line of an answer to its GET, the innermost first."""
    site, script = stage.job.job.build["site"], stage.job.job.script
    return (
        ("readinto", f"{PYTHON}/socket.py", 706),
        ("_read_status", f"{PYTHON}/http/client.py", 286),
        ("begin", f"{PYTHON}/http/client.py", 325),
        ("getresponse", f"{PYTHON}/http/client.py", 1386),
        ("getresponse", f"{site}/urllib3/connection.py", 638),
        ("_make_request", f"{site}/urllib3/connectionpool.py", 540),
        ("urlopen", f"{site}/urllib3/connectionpool.py", 793),
        ("send", f"{site}/requests/adapters.py", 696),
        ("send", f"{site}/requests/sessions.py", 784),
        ("resolve_redirects", f"{site}/requests/sessions.py", 292),
        ("request", f"{site}/requests/sessions.py", 651),
        ("request", f"{site}/aistore/sdk/request_client.py", 245),
        ("get", f"{site}/aistore/sdk/obj/object_client.py", 184),
        ("read_all", f"{site}/aistore/sdk/obj/object_reader.py", 96),
        ("open_shard", script, 77),
        ("next_batch", script, 94),
    )


def socket_found(stage: Stage, after: float, rank: int, node: Node) -> None:
    """The watcher of a host lists the rank's connections to storage: there is one, with nothing in its queues."""
    own = stage.job.job
    users = f'users:(("python3",pid={own.rank_pids[rank]},fd={stage.draw.child("fd", rank).whole(31, 90)}))'
    held = f"ESTAB 0 0 {stage.client(rank)} {node.endpoint(0)} {users}"
    said = f"hang-watcher: ss -Htnp dport = :{node.ports[0]} and pid {own.rank_pids[rank]}: {held}"
    stage.job.agent(stage.at + seconds(after), own.node_of(rank), said)
