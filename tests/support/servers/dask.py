"""A Dask cluster of processes on this machine: a scheduler that writes its file, and workers of one thread each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from . import Missing
from .processes import LOOPBACK, await_start, ended, killed, last_of, started

_ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Cluster:
    """A scheduler and its workers; they import aiscorr and tests/support/ from this checkout."""

    folder: Path
    environment: Mapping[str, str]
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def scheduler_file(self) -> Path:
        """What clients and workers find the scheduler by."""
        return self.folder / "scheduler.json"

    @property
    def engine(self) -> str:
        """The cluster as `--engine` takes it."""
        return f"dask-file:{self.scheduler_file}"

    def start_worker(self) -> int:
        """The number of one worker more, which is ready."""
        number = max(self.workers, default=-1) + 1
        log = self.folder / f"worker-{number}.log"
        self.workers[number] = self._start("worker", log, "--nthreads", "1", "--no-nanny", "--name", f"w{number}")
        if not await_start(self.workers[number], lambda: b"Registered to:" in log.read_bytes(), log):
            raise RuntimeError(f"a Dask worker does not start:\n{last_of(log)}")
        return number

    def kill9(self, number: int) -> None:
        """Kills a worker in the middle of what it does."""
        killed(self.workers.pop(number))

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        """The process of a scheduler that has written its file."""
        log = self.folder / "scheduler.log"
        process = self._start("scheduler", log, "--port", "0")
        if not await_start(process, self.scheduler_file.is_file, log):
            raise RuntimeError(f"the Dask scheduler does not start:\n{last_of(log)}")
        return process

    def _places(self) -> dict[str, str]:
        """Where a process of Dask imports from, and where it puts what it needs for a while."""
        return {
            "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'tests' / 'support'}",
            "DASK_TEMPORARY_DIRECTORY": str(self.folder),
        }

    def _start(self, what: str, log: Path, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.scheduler_file)]
        return started(
            [*command, "--host", LOOPBACK, "--no-dashboard", *options], log,
            environment={**self.environment, **self._places()}, folder=self.folder,
        )  # fmt: skip


def missing() -> str | None:
    """What there is not to run a cluster with, in words."""
    return "Dask is not installed (requirements/cluster.txt, lake.txt)" if find_spec("distributed") is None else None


@contextmanager
def cluster(worker_count: int = 2, environment: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A cluster as long as the block runs; its workers have the variables of `environment` too. Raises Missing."""
    if reason := missing():
        raise Missing(reason)
    with tempfile.TemporaryDirectory(prefix="aiscorr-dask-") as name:
        found = Cluster(Path(name), dict(environment or {}))
        scheduler = found.start_scheduler()
        try:
            for _ in range(worker_count):
                found.start_worker()
            yield found
        finally:
            for process in (*found.workers.values(), scheduler):
                ended(process)
