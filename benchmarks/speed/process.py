"""Runs a command pinned to given cores and tells its time, its peak resident set and what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
_POLL_S = 0.02
#: Where Python keeps compiled modules, as an installed program has them beside its own.
_BYTECODE = Path(tempfile.gettempdir()) / "aiscorr-benchmark-bytecode"


@dataclass(frozen=True)
class Run:
    """One run: wall and processor seconds, the largest resident set of its processes, its output; at last their sum."""

    seconds: float
    cpu_seconds: float
    peak_mib: float
    output: str
    result: dict[str, float] = field(default_factory=dict)
    sum_mib: float = 0.0

    @property
    def steady_seconds(self) -> float:
        """The seconds without start and imports, where the process measured them itself."""
        return self.result.get("seconds", self.seconds)

    @property
    def steady_cpu_seconds(self) -> float:
        """The processor seconds without start and imports, where the process measured them itself."""
        return self.result.get("cpu_seconds", self.cpu_seconds)


def run(command: Sequence[str], cores: Sequence[int], *, may_fail: bool = False, is_own: bool = True) -> Run:
    """Runs a command and its children on these cores only; another program is not shown aiscorr's modules."""
    started, cpu_before = time.perf_counter(), _children_cpu()
    environment = {**os.environ, "PYTHONPATH": os.environ.get("BENCH_AISCORR", str(REPO)) if is_own else ""}
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_BYTECODE)}
    pinned = ["taskset", "-c", ",".join(map(str, cores)), *command]
    process = subprocess.Popen(pinned, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=REPO)
    peaks: dict[int, int] = {}
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, peaks, stop))
    watcher.start()
    output, errors = process.communicate()
    seconds = time.perf_counter() - started
    stop.set()
    watcher.join()
    if process.returncode and not may_fail:
        raise RuntimeError(f"{' '.join(command[:6])}: exit code {process.returncode}\n{errors.decode()[-2000:]}")
    cpu_seconds = _children_cpu() - cpu_before
    peak_mib, sum_mib = max(peaks.values(), default=0) / 1024, sum(peaks.values()) / 1024
    return Run(seconds, cpu_seconds, peak_mib, output.decode(), sum_mib=sum_mib)


def _children_cpu() -> float:
    """The processor seconds of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def task(name: str, *arguments: str, cores: Sequence[int] = (0,)) -> Run:
    """Runs a task of work.py in a process of its own."""
    done = run([sys.executable, "-m", "benchmarks.speed.work", name, *arguments], cores)
    return Run(done.seconds, done.cpu_seconds, done.peak_mib, done.output, json.loads(done.output))


def _watch(pid: int, peaks: dict[int, int], stop: threading.Event) -> None:
    """Reads the high-water mark of a process and its descendants from /proc, as the kernel keeps it."""
    while not stop.wait(_POLL_S):
        pending = [pid]
        while pending:
            current = pending.pop()
            try:
                status = Path(f"/proc/{current}/status").read_text()
                children = Path(f"/proc/{current}/task/{current}/children").read_text()
            except OSError:
                continue
            for line in status.splitlines():
                if line.startswith("VmHWM:"):
                    peaks[current] = max(peaks.get(current, 0), int(line.split()[1]))
            pending += map(int, children.split())
