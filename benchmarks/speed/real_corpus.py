"""Corpora out of logs that real jobs wrote, cut before they end badly and repeated: how fast they are read, not judged.

Logs below `slurm-outputs`, `incidents` and `torch-runs` of the data folder are the bodies. A repetition begins with a
line of its own, so that no two stretches of a file are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

#: What the first line of a bad end holds.
_END = re.compile(
    rb"Traceback \(most recent|Killing subprocess|slurmstepd: error|srun: error|CANCELLED|closing signal|SIGTERM"
    rb"|Watchdog caught|ChildFailed|exitcode|Fatal Python|[A-Za-z](?:Error|Exception)\b|\b(?:ERROR|CRITICAL|FATAL)\b"
    rb"|\bERR\b|[Kk]illed|[Aa]borted|terminated|core dumped|Broken pipe|Connection (?:reset|closed|refused)"
)
_FILES, _JOINED_FILES = 960, 8
_FIRST_JOB = 5_000_000
_SHORTEST_BODY = 1000


def bodies(folder: Path, pattern: str) -> list[bytes]:
    """The logs that the pattern finds, each up to its first line of a bad end; the very short are left out."""
    found = []
    for path in sorted(folder.glob(pattern)):
        if not path.is_file():
            continue
        text = path.read_bytes()
        end = _END.search(text)
        body = text if end is None else text[: text.rfind(b"\n", 0, end.start()) + 1]
        if len(body) >= _SHORTEST_BODY and b"\0" not in body:
            found.append(body if body.endswith(b"\n") else body + b"\n")
    if not found:
        raise FileNotFoundError(f"{folder}: no logs at {pattern}")
    return found


def write_slurm_files(data: Path, folder: Path, byte_count: int) -> None:
    """960 files of as many jobs: each repeats one output of a SLURM job."""
    _write_jobs(bodies(data / "slurm-outputs", "*/logs/*"), folder, byte_count)


def write_joined_files(data: Path, folder: Path, byte_count: int) -> None:
    """Eight files of ranks of one job that has not ended, with the bytes of those 960 one behind the other."""
    chosen = bodies(data / "slurm-outputs", "*/logs/*")
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(_JOINED_FILES):
        with (folder / f"job-{_FIRST_JOB}-rank-{rank}.log").open("wb") as file:
            for number in range(rank, _FILES, _JOINED_FILES):
                file.writelines(_repeated(chosen[number % len(chosen)], number, byte_count // _FILES))


def write_worker_files(data: Path, folder: Path, byte_count: int) -> None:
    """960 files of as many jobs: each repeats one log of a rank of a recorded incident or torchrun job."""
    chosen = bodies(data / "incidents", "*/workers/**/*.out") + bodies(data / "torch-runs", "*/logs/**/*.[ol][ou][tg]")
    _write_jobs(chosen, folder, byte_count)


def _write_jobs(chosen: Sequence[bytes], folder: Path, byte_count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(_FILES):
        with (folder / f"train-{_FIRST_JOB + number}.out").open("wb") as file:
            file.writelines(_repeated(chosen[number % len(chosen)], number, byte_count // _FILES))


def _repeated(body: bytes, number: int, byte_count: int) -> Iterator[bytes]:
    """A text of about so many bytes, of whole lines."""
    left = byte_count
    for repetition in count():
        head = b"repetition %d in file %d\n" % (repetition, number)
        left -= len(head)
        if len(body) >= left:
            yield head + body[: body.rfind(b"\n", 0, max(left, 1)) + 1]
            return
        yield head
        yield body
        left -= len(body)
