"""Reads the same logs with one and with two Dask workers, each a process of its own on a core of its own.

Only the scan is timed: from the first task until all rows lie in Arrow files, with the workers already started.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from aiscorr.ingest import engine
from aiscorr.ingest.pipeline import no_progress, scan_all
from aiscorr.ingest.plan import what_to_read
from aiscorr.model import IngestOptions
from aiscorr.sources.discover import discover
from benchmarks.speed.process import REPO

_START_S = 60.0
_NOW = datetime(2026, 11, 29, tzinfo=UTC)


def measure_scan(logs: Sequence[Path], rounds: int) -> dict[str, float]:
    """Median seconds with one and with two workers, in turns, and how many times as fast two are."""
    pairs = [(_seconds(logs, 1), _seconds(logs, 2)) for _ in range(rounds)]
    one, two = (median(pair[side] for pair in pairs) for side in (0, 1))
    size = sum(path.stat().st_size for folder in logs for path in folder.rglob("*") if path.is_file())
    return {"mib": round(size / 2**20), "one_s": round(one, 1), "two_s": round(two, 1), "ratio": round(one / two, 2)}


def _seconds(logs: Sequence[Path], worker_count: int) -> float:
    with tempfile.TemporaryDirectory() as place, cluster(Path(place), worker_count) as name:
        options = IngestOptions(job_count=worker_count, engine=name)
        with engine.workers(name, worker_count) as workers:
            assert workers is not None
            workers()
            plan = what_to_read(list(discover(map(str, logs))), {}, {}, options, ())
            started = time.perf_counter()
            found = scan_all(plan, str(place), options, _NOW, lambda: False, no_progress, workers)
            seconds = time.perf_counter() - started
    if len([one for result in found for one in result.summaries]) != len(plan.to_read):
        raise RuntimeError("not all files were read")
    return seconds


@contextlib.contextmanager
def cluster(place: Path, worker_count: int) -> Iterator[str]:
    """A scheduler and workers of one thread each, every worker on its core; the engine's name while they run."""
    file = place / "scheduler.json"
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    commands = [scheduler, *(["taskset", "-c", str(core), *worker] for core in range(worker_count))]
    with contextlib.ExitStack() as held:
        for command in commands:
            process = subprocess.Popen(
                [*command, "--scheduler-file", str(file)],
                cwd=REPO,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            held.callback(process.wait)
            held.callback(process.terminate)
        end = time.monotonic() + _START_S
        while not file.exists():
            if time.monotonic() > end:
                raise RuntimeError("the scheduler of Dask did not start")
            time.sleep(0.1)
        _wait_for(file, worker_count)
        yield f"dask-file:{file}"


def _wait_for(file: Path, worker_count: int) -> None:
    from distributed import Client

    with Client(scheduler_file=str(file), timeout=_START_S) as client:
        client.wait_for_workers(worker_count, timeout=_START_S)
