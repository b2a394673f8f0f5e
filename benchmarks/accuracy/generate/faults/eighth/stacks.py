"""Stacks of a rank that hangs: a watcher on its host takes them with py-spy, or its own faulthandler prints them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.accuracy.generate.faults.words.clients import PYTHON
from fixtures.generator.draw import HEX
from fixtures.generator.model import Job
from fixtures.generator.moment import seconds
from fixtures.generator.stage import Stage

BOOTSTRAP = (
    ("run", f"{PYTHON}/threading.py", 982),
    ("_bootstrap_inner", f"{PYTHON}/threading.py", 1045),
    ("_bootstrap", f"{PYTHON}/threading.py", 1002),
)


@dataclass(frozen=True)
class Thread:
    """A thread with its frames (function, file, line), the innermost first."""

    name: str
    frames: tuple[tuple[str, str, int], ...]
    state: str = "idle"


def main_thread(stage: Stage, *inner: tuple[str, str, int]) -> Thread:
    """The main thread, from the innermost frame to the script's own."""
    script = stage.job.job.script
    return Thread("MainThread", (*inner, ("main", script, 187), ("<module>", script, 212)))


def py_spy(stage: Stage, after: float, threads: tuple[Thread, ...], pid: int = 0) -> None:
    """A watcher on the host of the culprit finds no progress and takes the stacks of a process."""
    job, rank, at = stage.job, stage.culprit, stage.at + seconds(after)
    own = pid or job.job.rank_pids[rank]
    spawned = "-c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=11, pipe_handle=47)"
    command = f"{spawned} --multiprocessing-fork" if pid else f"-u {job.job.script}"
    rows = [f"hang-watcher: rank {rank} has made no step for {after:.0f} s, py-spy dump --pid {own}"]
    job.agent(at, job.job.node_of(rank), "\n".join([*rows, *dumped(job.job, own, command, threads)]))


def dumped(job: Job, pid: int, command: str, threads: tuple[Thread, ...]) -> list[str]:
    """What py-spy dump prints of a process: its command, its Python, and the stacks of its threads."""
    site, folder = job.build["site"], job.script.rsplit("/", 1)[0]
    rows = [f"Process {pid}: {job.build['python']} {command}", f"Python v3.11.9 ({job.build['bin']}/python3.11)"]
    for number, thread in enumerate(threads):
        rows += ["", f'Thread {pid + 17 * number} ({thread.state}): "{thread.name}"']
        for function, file, line in thread.frames:
            short = file.removeprefix(f"{site}/").removeprefix(f"{PYTHON}/").removeprefix(f"{folder}/")
            rows.append(f"    {function} ({short}:{line})")
    return rows


def faulthandler(stage: Stage, after: float, threads: tuple[Thread, ...]) -> None:
    """The rank has asked Python to print its stacks if no step is done for that long; threads have no names there."""
    whole, draw = round(after), stage.draw.child("faulthandler")
    rows = [f"Timeout ({whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d})!"]
    for thread in reversed(threads):
        rows.append(f"Thread 0x00007f{draw.token(7, HEX)}{draw.pick('0246')}40 (most recent call first):")
        rows += [f'  File "{file}", line {line} in {function}' for function, file, line in thread.frames]
        rows.append("")
    stage.job.say(stage.at + seconds(after), stage.culprit, "\n".join(rows[:-1]))
