"""Runs one scenario: starts its launchers, watches what they write, does the acts of the scenario, ends everything."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.accuracy.record import processes
from benchmarks.accuracy.record.object_server import ObjectStore
from benchmarks.accuracy.record.scenario import Act, Layout, Scenario

_JOBS = Path(__file__).with_name("jobs")
_FIRST_PORT, _SLURM_JOB = 51080, 482913


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

    def signal_rank(self, rank: int, number: int) -> None:
        """Sends a signal to a rank's main process."""
        processes.send(self._ranks()[rank], number)

    def signal_loader(self, rank: int, number: int) -> None:
        """Sends a signal to a data loading process of a rank."""
        processes.send(processes.loader_processes(self.mark, self._ranks()[rank])[-1], number)

    def signal_node(self, node: int, number: int) -> None:
        """Sends a signal to the launcher of a node and to all it started."""
        head = self.launchers[node].pid
        below = [pid for pid in self._ranks().values() if processes.parent_of(pid) == head]
        for pid in (head, *below):
            processes.send(pid, number)

    def signal_launcher(self, node: int, number: int) -> None:
        """Sends a signal to the launcher of a node alone."""
        self.launchers[node].send_signal(number)

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

    def stop_store(self) -> None:
        """Takes the object server away."""
        self.store.stop()

    def start_store(self) -> None:
        """Brings the object server back."""
        self.store.start()

    def written(self) -> str:
        """All that the job has written so far."""
        files = [path for path in self.logs.rglob("*") if path.is_file() and path.parent.name != "pyspy"]
        return "\n".join(path.read_text("utf-8", "replace") for path in sorted(files))

    def _ranks(self) -> dict[int, int]:
        return processes.rank_processes(self.mark, tuple(one.pid for one in self.launchers.values()))


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
    shutil.copytree(_JOBS, work, dirs_exist_ok=True)
    for name, text in scenario.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, "utf-8")
    for name, goal in scenario.links.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).symlink_to(goal)
    logs.mkdir(parents=True, exist_ok=True)
    objects = scenario.objects() if scenario.objects else {}
    with ObjectStore(objects, scenario.faults, _FIRST_PORT) as store:
        job = Run(scenario, python, work, logs, store)
        try:
            return _watch(job)
        finally:
            processes.end_all(job.mark)
            if (work / "fr").is_dir():
                shutil.copytree(work / "fr", logs / "fr")


def _watch(job: Run) -> Outcome:
    started = time.monotonic()
    port = _free_port()
    for node in range(job.scenario.nodes):
        if node not in job.scenario.absent_nodes:
            _start(job, node, port)
    waiting: list[tuple[Act, float | None]] = [(act, None) for act in job.scenario.acts]
    while any(one.poll() is None for one in job.launchers.values()):
        if time.monotonic() - started > job.scenario.limit_s:
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
        if due is None or time.monotonic() < due or not _is_done(act, job):
            left.append((act, due))
    return left


def _is_done(act: Act, job: Run) -> bool:
    """Does an act; a process that is not there (yet) leaves it to be done."""
    try:
        act.do(job)
    except LookupError:
        return False
    return True


def _start(job: Run, node: int, port: int) -> None:
    scenario = job.scenario
    is_wrong = node in scenario.wrong_port_nodes
    command = [job.python, "-m", "torch.distributed.run", *_launcher_options(job, node, port + is_wrong)]
    command += [scenario.script, *(one.replace("{store}", job.store.endpoint) for one in scenario.arguments)]
    job.commands.append(" ".join(command))
    out, err = _streams(job, node)
    with out.open("ab") as out_file, err.open("ab") as err_file:
        job.launchers[node] = subprocess.Popen(
            command,
            cwd=job.work,
            env=_environment(job, node),
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
            start_new_session=True,
            preexec_fn=_limits(scenario, node),
        )


def _launcher_options(job: Run, node: int, port: int) -> list[str]:
    scenario, layout = job.scenario, job.scenario.layout
    options = [f"--nnodes={scenario.nodes}", f"--nproc-per-node={scenario.ranks_per_node}", f"--node-rank={node}"]
    options += ["--master-addr=127.0.0.1", f"--master-port={port}"]
    if layout.has_files:
        name = "torchrun-logs" if scenario.nodes == 1 else f"torchrun-logs-node{node}"
        options += [f"--log-dir={job.logs / name}", "--redirects=3"]
    if layout is Layout.SRUN_TEE:
        options += [f"--log-dir={job.work / f'elastic-{node}'}"]
    if layout in (Layout.TEE, Layout.SRUN_TEE):
        options += ["--tee=3"]
    return [*options, *scenario.launcher]


def _streams(job: Run, node: int) -> tuple[Path, Path]:
    if job.scenario.layout.is_merged:
        both = job.logs / f"error-{_SLURM_JOB}-{node}.out"
        return both, both
    name = "torchrun" if job.scenario.nodes == 1 else f"torchrun.node{node}"
    return job.logs / f"{name}.out", job.logs / f"{name}.err"


def _environment(job: Run, node: int) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    own = {
        processes.MARK: job.mark,
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PG_TIMEOUT_S": str(job.scenario.group_timeout_s),
        "AIS_ENDPOINT": job.store.endpoint,
        "NO_PROXY": "127.0.0.1",
    }
    per_node = job.scenario.node_environment.get(node, {})
    return {**kept, **own, **job.scenario.environment, **per_node}


def _limits(scenario: Scenario, node: int) -> Callable[[], None] | None:
    limits = scenario.node_limits.get(node)
    if not limits:
        return None

    def set_them() -> None:
        for kind, value in limits.items():
            resource.setrlimit(kind, (value, value))

    return set_them


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
