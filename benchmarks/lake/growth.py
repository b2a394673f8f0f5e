"""Measures whole commands on a lake that holds a month, and what a day's ingest costs after more and more days.

Each command is a process of its own; seconds are of its whole life, memory is the largest resident set of any process.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import ledger
from aiscorr.lake.shape import LAKE
from aiscorr.lake.site import attached
from aiscorr.store.database import in_memory
from benchmarks.lake.copies import after, copy, database_of, drop
from benchmarks.speed.process import Run, run

_CORES = (0, 1)


HEAD = "| command | s | processor s | peak MiB |\n|---|---|---|---|"


@dataclass(frozen=True)
class Measured:
    """Medians of some rounds of one command."""

    what: str
    seconds: float
    cpu_seconds: float
    peak_mib: float

    @classmethod
    def of(cls, what: str, runs: Sequence[Run]) -> Measured:
        """The medians of seconds, and the largest resident set."""
        seconds, cpu = (median(values) for values in ([r.seconds for r in runs], [r.cpu_seconds for r in runs]))
        return cls(what, round(seconds, 2), round(cpu, 2), round(max(r.peak_mib for r in runs)))


def show(one: Measured) -> str:
    """A row of the table."""
    return f"| {one.what} | {one.seconds:.1f} | {one.cpu_seconds:.1f} | {one.peak_mib:.0f} |"


def measure_incident(lake: Lake, incident: Path, since: str, rounds: int) -> Iterator[Measured]:
    """An incident's logs read into the lake, then asked for: with nothing cached of the lake, and again."""
    logs = [str(incident / part) for part in ("ais", "workers") if (incident / part).is_dir()]
    with tempfile.TemporaryDirectory() as place:
        cache = Path(place) / "cache"
        aiscorr(lake, cache, "report", "--since", "1h")  # parses the views once, as any use before does
        yield Measured.of("ingest of the incident", [aiscorr(lake, cache, "ingest", *logs)])
        job, failure = _newest_case(lake)
        judged = [_judge(lake, cache, job) for _ in range(rounds)]
        yield Measured.of("its slice pulled and judged, by a new process", judged)
        yield replace(
            Measured.of("the same by a worker that has judged before", judged),
            seconds=round(median(one.result["seconds"] for one in judged), 2),
            cpu_seconds=round(median(one.result["cpu_seconds"] for one in judged), 2),
        )
        commands = {
            "report of it": ("report", failure),
            f"report --since {since}": ("report", "--since", since),
            "query of its failure": ("query", f"select * from failure where failure_id = '{failure}'"),
        }
        for what, command in commands.items():
            fresh = []
            for _ in range(rounds):
                shutil.rmtree(cache / "aiscorr" / "lake", ignore_errors=True)
                fresh.append(aiscorr(lake, cache, *command))
            yield Measured.of(f"{what}, no slice cached", fresh)
            yield Measured.of(f"{what}, again", [aiscorr(lake, cache, *command) for _ in range(rounds)])


def measure_days(lake: Lake, days: Sequence[int], logs: Path, rounds: int) -> Iterator[Measured]:
    """The ingest of the same logs into copies of the catalogue as it was after so many days; 0 is a new lake."""
    with tempfile.TemporaryDirectory(dir=Path(lake.data or "").parent) as place:
        cache, name = Path(place) / "cache", f"{database_of(lake)}_try"
        for count in days:
            runs = []
            for number in range(rounds):
                tried = replace(copy(lake, after(lake, count) if count else None, name), data=f"{place}/new-{number}")
                runs.append(aiscorr(tried, cache, "ingest", str(logs)))
                drop(lake, name)
            yield Measured.of(f"ingest of a day after {count} days", runs)


def aiscorr(lake: Lake, cache: Path, *arguments: str) -> Run:
    """A whole command on the lake."""
    before = dict(os.environ)
    os.environ |= {"XDG_CACHE_HOME": str(cache), "AISCORR_LAKE_DATA": lake.data or ""}
    try:
        return run([sys.executable, "-P", "-m", "aiscorr", "-q", "--db", lake.name, *arguments], _CORES)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _judge(lake: Lake, cache: Path, job: str) -> Run:
    """A process that does nothing but pull the slice of a case and judge it, as a worker does; and once more in it.

    The seconds of the process are those until it has judged once.
    """
    os.environ["XDG_CACHE_HOME"], before = str(cache), os.environ.get("XDG_CACHE_HOME", "")
    try:
        done = run([sys.executable, "-P", "-m", "benchmarks.lake.judge", lake.catalogue, job], _CORES)
    finally:
        os.environ["XDG_CACHE_HOME"] = before
    told = json.loads(done.output)
    again_s, again_cpu_s = told["again_s"], told["again_cpu_s"]
    return replace(
        done, seconds=done.seconds - again_s, cpu_seconds=done.cpu_seconds - again_cpu_s,
        result={"seconds": again_s, "cpu_seconds": again_cpu_s},
    )  # fmt: skip


def _newest_case(lake: Lake) -> tuple[str, str]:
    """The job and the failure that ingest found last, by what the lake keeps."""
    with ledger(lake) as book, contextlib.closing(in_memory()) as connection, attached(connection, book):
        sql = f"select job_id, failure_id from {LAKE}.stored_failure order by ended_at desc limit 1"
        job, failure = connection.execute(sql).fetchall()[0]
    return str(job), str(failure)
