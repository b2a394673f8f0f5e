"""Runs aiscorr in processes of its own: as another user, with little disk, killed, or watched from outside."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
#: A process that has not ended by then says where each of its threads stands, and ends.
MOST_S = 200
#: Only what is read and stored is looked at; processes read even small corpora in a pool where `POOL` is set.
ROWS_ONLY = """
import os, sys
from aiscorr.ingest import pipeline, spreading
if os.environ.get("ROWS_ONLY"):
    pipeline.refresh_alone = lambda *given: None
    pipeline.are_views_current = lambda connection: True
    pipeline.changed_failures = lambda connection, run_id: ()
if os.environ.get("POOL"):
    spreading.POOL_BYTES, spreading.TASK_FILES = 0, 2
"""
#: A process counts the memory of the one that started it until its own program begins; so each tells its own peak.
PEAK = """
import atexit, resource
HERE = __file__
def tell():
    own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    with open(f"{HERE}.{os.getpid()}", "w") as file:
        file.write(str(max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)))
"""
COMMAND = (
    f"{ROWS_ONLY}\n{PEAK}\nfrom aiscorr.cli import main\n"
    "if __name__ == '__main__':\n    atexit.register(tell)\n    main(sys.argv[1:])\n"
)


@dataclass(frozen=True)
class Ended:
    """How a process ended: exit code (minus the signal), both outputs, and the most memory it held, in MiB."""

    code: int
    out: str
    err: str
    peak_mib: float


def script(folder: Path) -> Path:
    """The command line as a file that processes of a pool can import."""
    path = folder / "aiscorr_of_test.py"
    path.write_text(COMMAND)
    return path


def started(
    folder: Path,
    *arguments: str | Path,
    pool: bool = False,
    analysed: bool = False,
    prepare: Callable[[], None] | None = None,
) -> subprocess.Popen[str]:
    """`aiscorr ARGUMENTS` in a process of its own; `prepare` is called in it first."""
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    environment["PYTHONFAULTHANDLER"] = "1"
    environment.update({"POOL": "1"} if pool else {}, **({} if analysed else {"ROWS_ONLY": "1"}))
    return subprocess.Popen(
        [sys.executable, str(script(folder)), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=folder, env=environment, preexec_fn=prepare,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> Ended:
    """Waits for a process; its memory is what it tells at its end, those of its own processes included."""
    assert process.stdout is not None and process.stderr is not None
    too_late = threading.Timer(MOST_S, os.kill, (process.pid, signal.SIGABRT))
    too_late.start()
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    too_late.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    assert isinstance(process.args, list)  # as `started` gives them: the interpreter, then the script
    told = Path(f"{process.args[1]}.{process.pid}")
    peak = int(told.read_text()) if told.exists() else usage.ru_maxrss
    return Ended(process.returncode, out, err, peak / 1024)


def aiscorr(
    folder: Path,
    *arguments: str | Path,
    pool: bool = False,
    analysed: bool = False,
    prepare: Callable[[], None] | None = None,
) -> Ended:
    """Runs `aiscorr ARGUMENTS` to its end."""
    return ended(started(folder, *arguments, pool=pool, analysed=analysed, prepare=prepare))


def files_end_at(limit: int) -> Callable[[], None]:
    """What a process does first to have a disk on which no file holds more than so many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def left_behind(folder: Path) -> list[str]:
    """What ingests left in the folder of their database."""
    return sorted(
        path.name for path in folder.iterdir() if ".writing" in path.name or path.name.startswith(".aiscorr-")
    )
