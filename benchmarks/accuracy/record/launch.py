"""Runs one scenario: starts its launchers, watches what they write, does the acts of the scenario, ends everything."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.accuracy.record import processes
from benchmarks.accuracy.record.catalog import JOBS
from benchmarks.accuracy.record.commands import Plan
from benchmarks.accuracy.record.files import FILES
from benchmarks.accuracy.record.object_server import ObjectStore
from benchmarks.accuracy.record.objects import OBJECTS
from benchmarks.accuracy.record.scenario import Act, Scenario, Start

_LIMITS = {"address_space_mib": (resource.RLIMIT_AS, 1 << 20), "open_files": (resource.RLIMIT_NOFILE, 1)}
_FIRST_PORT = 51080


@dataclass
class Run:
    """A scenario while it runs; what its acts may lay hands on."""

    scenario: Scenario
    python: str
    work: Path
    logs: Path
    store: ObjectStore
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    launchers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def do(self, act: str) -> None:
        """Does one thing from outside, in the words of `Act`; LookupError as long as what it is about is not there."""
        verb, _, rest = act.partition(" ")
        if verb == "stacks":
            self.take_stacks()
        elif verb == "records":
            self.take_flight_records()
        elif verb == "cut":
            self.cut_file(rest)
        elif act == "stop store":
            self.store.stop()
        else:
            kind, _, number = rest.partition(" ")
            self.send(signal.Signals[verb], kind, int(number))

    def send(self, number: signal.Signals, kind: str, which: int) -> None:
        """Sends a signal to a rank, to a process it forked, to a launcher, or to a launcher and all it started."""
        if kind == "rank":
            found = [self._ranks()[which]]
        elif kind == "loader":
            found = [processes.loader_processes(self.mark, self._ranks()[which])[-1]]
        else:
            head = self.launchers[which].pid
            below = [pid for pid in self._ranks().values() if processes.parent_of(pid) == head]
            found = [head, *below] if kind == "node" else [head]
        for pid in found:
            processes.send(pid, number)

    def take_stacks(self) -> None:
        """Stores py-spy's stacks of all ranks, where py-spy may trace."""
        tracer = Path(self.python).with_name("py-spy")
        folder = self.logs / "pyspy"
        for rank, pid in sorted(self._ranks().items()):
            command = [str(tracer), "dump", "--subprocesses", "--nonblocking", "--pid", str(pid)]
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                done = subprocess.run(command, capture_output=True, timeout=20, check=False)
                if done.returncode == 0:
                    folder.mkdir(exist_ok=True)
                    (folder / f"rank{rank}.txt").write_bytes(done.stdout)

    def take_flight_records(self) -> None:
        """Lets every rank that can still run write its Flight Recorder dump."""
        (self.work / "fr").mkdir(exist_ok=True)
        (self.work / "dump-now").touch()
        time.sleep(1.5)

    def cut_file(self, name: str) -> None:
        """Leaves the first half of a file the job wrote; LookupError as long as there is none."""
        path = self.work / name
        if not path.is_file():
            raise LookupError(name)
        os.truncate(path, path.stat().st_size // 2)

    def written(self) -> str:
        """All that the job has written so far."""
        files = [path for path in self.logs.rglob("*") if path.is_file() and path.parent.name != "pyspy"]
        return "\n".join(path.read_text("utf-8", "replace") for path in sorted(files))

    def _ranks(self) -> dict[int, int]:
        launchers = tuple(one.pid for one in self.launchers.values())
        if self.scenario.start is Start.SPAWN:
            return dict(enumerate(processes.loader_processes(self.mark, launchers[0])))
        return processes.rank_processes(self.mark, launchers)


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    exit_codes: dict[int, int | None]
    seconds: float
    was_ended: bool
    acts_left: int
    commands: tuple[str, ...]


def run(scenario: Scenario, python: str, work: Path, logs: Path) -> Outcome:
    """Runs a scenario to its end, or to its limit."""
    shutil.copytree(JOBS, work, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files_of(scenario).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, "utf-8")
    for name, goal in scenario.links.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).symlink_to(goal)
    logs.mkdir(parents=True, exist_ok=True)
    with ObjectStore(objects_of(scenario), scenario.faults, _FIRST_PORT) as store:
        job = Run(scenario, python, work, logs, store)
        try:
            return _watch(job)
        finally:
            processes.end_all(job.mark)
            for launcher in job.launchers.values():
                launcher.wait(10)
            if (work / "fr").is_dir():
                shutil.copytree(work / "fr", logs / "fr")


def files_of(scenario: Scenario) -> dict[str, str]:
    """The text files of a scenario, by their place in the job's folder."""
    made = (FILES[name](**given) for name, given in scenario.files.items())
    return {name: text for files in (*made, scenario.texts) for name, text in files.items()}


def objects_of(scenario: Scenario) -> dict[str, bytes]:
    """The objects that the store of a scenario holds at first."""
    made = (OBJECTS[name](**given) for name, given in scenario.objects.items())
    return {name: body for objects in made for name, body in objects.items()}


def _watch(job: Run) -> Outcome:
    started = time.monotonic()
    port = _free_port()
    delays = job.scenario.delays_s
    to_come = [node for node in range(job.scenario.nodes) if node not in job.scenario.absent_nodes]
    waiting: list[tuple[Act, float | None]] = [(act, None) for act in job.scenario.acts]
    while to_come or any(one.poll() is None for one in job.launchers.values()):
        passed = time.monotonic() - started
        for node in [one for one in to_come if delays.get(one, 0.0) <= passed]:
            _start(job, node, port)
            to_come.remove(node)
        if passed > job.scenario.limit_s:
            break
        waiting = _acts_left(job, waiting)
        time.sleep(0.1)
    was_ended = any(one.poll() is None for one in job.launchers.values())
    codes = {node: one.poll() for node, one in job.launchers.items()}
    return Outcome(codes, time.monotonic() - started, was_ended, len(waiting), tuple(job.commands))


def _acts_left(job: Run, waiting: list[tuple[Act, float | None]]) -> list[tuple[Act, float | None]]:
    left: list[tuple[Act, float | None]] = []
    text = job.written() if any(due is None for _, due in waiting) else ""
    for act, due in waiting:
        if due is None and re.search(act.after, text):
            due = time.monotonic() + act.delay_s
        to_do = act.do if due is None or time.monotonic() < due else _still_to_do(act.do, job)
        if to_do:
            left.append((replace(act, do=to_do), due))
    return left


def _still_to_do(steps: tuple[str, ...], job: Run) -> tuple[str, ...]:
    """Does steps in order, none twice; gives those from the first on whose process or file is not there (yet)."""
    for number, step in enumerate(steps):
        try:
            job.do(step)
        except LookupError:
            return steps[number:]
    return ()


def _start(job: Run, node: int, port: int) -> None:
    scenario = job.scenario
    plan = Plan(scenario, node, port + (node in scenario.wrong_port_nodes), job.work, job.logs)
    command = plan.command(job.python, job.store.endpoint)
    job.commands.append(" ".join(command))
    out, err = plan.streams()
    with out.open("ab") as out_file, err.open("ab") as err_file:
        job.launchers[node] = subprocess.Popen(
            plan.with_own_shared_memory(command),
            cwd=job.work,
            env={**plan.environment(job.store.endpoint), processes.MARK: job.mark},
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
            start_new_session=True,
            preexec_fn=_limits(scenario, node),
        )


def _limits(scenario: Scenario, node: int) -> Callable[[], None] | None:
    limits = scenario.limits.get(node)
    if not limits:
        return None

    def set_them() -> None:
        for name, value in limits.items():
            kind, unit = _LIMITS[name]
            resource.setrlimit(kind, (value * unit, value * unit))

    return set_them


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
