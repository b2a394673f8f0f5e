"""What a measured process does: one task of aiscorr or a bare floor under it, told by name, summed up as JSON.

Runs alone in its process, so that its time and its peak memory are its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
Result = dict[str, Any]
#: Between two statements of one reader.
_PAUSE_S = 10
FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "target_killed_short_batch"


def files_below(folder: str) -> list[str]:
    """Every file below a folder, sorted; a file is itself."""
    path = Path(folder)
    return [folder] if path.is_file() else sorted(str(found) for found in path.rglob("*") if found.is_file())


def scan_rows(folder: str, subset: str = "") -> Result:
    """All rows of the files into Arrow parts, in this process; `subset` names the worker patterns to use."""
    from aiscorr.ingest.scanning import provisional_ids, scan_task
    from aiscorr.model import IngestOptions, SourceRef
    from aiscorr.parse.spec.pattern_files import pattern_set
    from aiscorr.parse.worker import patterns as worker_patterns
    from aiscorr.parse.worker.reader import WorkerLogReader

    if subset:
        names = set(subset.split(","))
        chosen = tuple(p for p in pattern_set("worker") if p.name in names)
        setattr(worker_patterns, "pattern_set", lambda kind, folders=(): chosen)  # noqa: B010 (as below)
    import pyarrow  # noqa: F401 (as what is compiled below: no part of the work that is timed)

    WorkerLogReader(None)  # type: ignore[arg-type]  # compiles and caches what is compiled once
    refs = [
        SourceRef(path, path, stored_byte_count=os.stat(path).st_size, modified_ns=os.stat(path).st_mtime_ns)
        for path in files_below(folder)
    ]
    items = provisional_ids([(ref, None) for ref in refs])
    with tempfile.TemporaryDirectory() as parts:
        started, cpu_started = time.perf_counter(), time.process_time()
        result = scan_task(items, parts, "bench", IngestOptions(), int(NOW.timestamp() * 1e9), lambda: False)
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    read = result.summaries
    rows, counters = sum(s.event_count for s in read), sum(s.counter_count for s in read)
    lines = sum(s.line_count for s in read)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "rows": rows, "counters": counters, "lines": lines}


def ingest(folder: str, database: str, jobs: str = "1") -> Result:
    """The whole of `aiscorr ingest`, views and findings included."""
    import duckdb  # noqa: F401 (as pyarrow: no part of the work that is timed)
    import pyarrow  # noqa: F401 (as above)

    from aiscorr.ingest import pipeline
    from aiscorr.model import IngestOptions

    phases: dict[str, float] = {}
    started, cpu_started = time.perf_counter(), time.process_time()

    def note(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
        phases[phase] = time.perf_counter() - started

    options = IngestOptions(job_count=int(jobs))
    threads = int(jobs)
    summary = pipeline.ingest([folder], database, options, now=NOW, threads=threads, progress=note)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "scanned": phases.get("scan", 0.0),
        "rows": summary.event_count,
        "counters": summary.counter_count,
        "lines": summary.line_count,
        "new": summary.new_file_count,
    }


def judge(folder: str, database: str, jobs: str) -> Result:
    """Ingest and the report of what was found: the rank that it names."""
    from aiscorr.report.build import build_report
    from aiscorr.store.database import reading

    result = ingest(folder, database, jobs)
    with reading(database) as connection:
        (failure,) = build_report(connection, "all", NOW).failures
    return {**result, "culprit": failure.culprit_ranks[0]}


def scan_and_load(folder: str, database: str) -> Result:
    """All rows of the files into a new DuckDB database, without the analysis that `ingest` adds."""
    from aiscorr.ingest import pipeline

    for name in ("refresh_alone", "stale_views"):
        setattr(pipeline, name, lambda *given: None)
    setattr(pipeline, "changed_failures", lambda *given: ())  # noqa: B010 (a name that is not the module's own)
    return ingest(folder, database)


def pull(url: str, spool: str, database: str = "") -> Result:
    """The whole of `aiscorr pull`, with the ingest of it where a database is named."""
    from aiscorr.pull.connection import Connection
    from aiscorr.pull.gather import SpoolOptions
    from aiscorr.pull.gather import pull as pull_cluster

    started = time.perf_counter()
    summary = pull_cluster(Connection(url), SpoolOptions(spool))
    seconds = time.perf_counter() - started
    done: Result = ingest(summary.folder, database) if database else {"rows": 0, "lines": 0}
    seconds += done.get("seconds", 0.0)
    done.pop("cpu_seconds", None)  # of the ingest alone
    return {**done, "seconds": seconds, "bytes": summary.byte_count, "nodes": len(summary.results)}


def decompress(path: str) -> Result:
    """Nothing but isal's decompression into a buffer that is used again and again."""
    from isal import igzip

    buffer = bytearray(256 * 1024)
    started, cpu_started = time.perf_counter(), time.process_time()
    count = 0
    with igzip.open(path) as stream:  # type: ignore[no-untyped-call]
        while got := stream.readinto(buffer):
            count += got
    cpu_seconds = time.process_time() - cpu_started
    return {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds, "bytes": count}


def read(database: str, stop: str, number: str) -> Result:
    """Reports and queries in turns, a pause apart, until a file is there; the seconds of each. Any error ends it."""
    from aiscorr.report.build import build_report
    from aiscorr.report.render import render_json
    from aiscorr.store.database import reading

    each: list[float] = []
    is_report = int(number) % 2 == 0
    time.sleep(int(number) % 50 * _PAUSE_S / 50)  # not all at the same moment
    while not os.path.exists(stop):
        started = time.perf_counter()
        with reading(database, threads=1) as connection:
            if is_report:
                render_json(build_report(connection, "latest", NOW))
            else:
                connection.execute("select node_id, sum(delta) from counter_delta group by all").fetchall()
                connection.execute("select * from evidence order by event_at").fetchall()
        each.append(time.perf_counter() - started)
        is_report = not is_report
        time.sleep(_PAUSE_S)
    return {"each": each}


def night(home: str, moment: datetime = NOW) -> Result:
    """One nightly run of the service in a folder."""
    from aiscorr.config import load_settings
    from aiscorr.serve.plan import read_plan
    from aiscorr.serve.run import run_once

    config = f"{home}/aiscorr.toml"
    settings = load_settings(db=None, config=config, environment={}, folder=home)
    plan = read_plan(settings.serve, base=settings.folder, where=settings.config_path)
    started = time.perf_counter()
    run = run_once(plan, settings, "nightly", now=lambda: moment)
    if run.outcome != "ok":
        raise RuntimeError(f"the night: {run.problems}")
    return {"seconds": time.perf_counter() - started, "new": run.file_count}


def nights(home: str, count: str) -> Result:
    """So many nights in one process, each with a new worker log; its memory, descriptors and threads after a third."""
    marks: list[tuple[int, int, int]] = []
    source = FIXTURE / "workers" / "error-4184269-0.out"
    started = time.perf_counter()
    for number in range(int(count)):
        text = source.read_text().replace("2026-09-14", f"2026-08-{number % 30 + 1:02d}")
        Path(home, "logs", f"error-{number + 1000}-0.out").write_text(text.replace("4184269", str(number + 1000)))
        night(home, NOW + timedelta(days=number))
        own = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        marks.append((int(own["VmRSS"].split()[0]), len(os.listdir("/proc/self/fd")), int(own["Threads"])))
    first, last = marks[len(marks) // 3], marks[-1]
    names = ("kib", "descriptors", "threads")
    told = {
        f"{name}_{when}": mark[i] for when, mark in (("then", first), ("end", last)) for i, name in enumerate(names)
    }
    return {"seconds": time.perf_counter() - started, **told}


TASKS: dict[str, Callable[..., Result]] = {
    "scan_rows": scan_rows,
    "ingest": ingest,
    "judge": judge,
    "scan_and_load": scan_and_load,
    "pull": pull,
    "decompress": decompress,
    "read": read,
    "night": night,
    "nights": nights,
}

if __name__ == "__main__":
    json.dump(TASKS[sys.argv[1]](*sys.argv[2:]), sys.stdout)
