"""What is said where a database holds several failures: which one is shown, and how to see the others."""

from __future__ import annotations

import json
from pathlib import Path

from commands import Command
from packing import LOG, written
from scenes import Library, rows

DB = "two_jobs"


def test_the_latest_is_not_all(run: Command, library: Library) -> None:
    """A report of the latest failure says above that there are others, and names their commands at its end."""
    db = library.database(DB)
    found = rows(db, "select failure_id, storage_verdict from failure order by ended_at desc")
    latest, *others = [row[0] for row in found]
    for form in ("text", "markdown", "html"):
        text = run("--db", db, "report", "--no-verify", "--format", form).out
        end = text[text.index("Clocks") :]
        assert f"latest of {len(found)} failures" in text[: text.index("Verdict")] and "aiscorr report all" in end
        assert all(f"aiscorr report {name}" in end for name in others) and f"aiscorr report {latest}" not in end
    for which in (latest, "all"):
        assert "failures in this database" not in run("--db", db, "report", "--no-verify", which).out
    report = json.loads(run("--db", db, "report", "--no-verify", "--format", "json").out)
    assert [(item["failure_id"], item["storage_verdict"]) for item in report["other_failures"]] == found[1:]
    assert others and [run("--db", db, "report", "--no-verify", name).code for name in others] == [0] * len(others)


def failed(job: str, time: str) -> Path:
    """The log of a job that failed at a time of a day."""
    begin = f"2026-11-20 {time}:00,000 INFO [rank 0] begins\n2026-11-20 {time}:07,000 INFO [rank 0] step 1 done\n"
    return written(Path(job) / "rank0.log", begin.encode() + LOG.replace(b"boom", job.encode()))


def test_ingest_names_what_report_would_not_show(run: Command) -> None:
    """After an ingest of an older failure the command to read on names it, and JSON tells the latest."""
    first = run("ingest", failed("job2", "10:00")).out
    assert first.splitlines()[-1] == "read more: aiscorr report", "the latest needs no name"
    older = run("ingest", failed("job1", "09:00")).out
    (name,) = rows("aiscorr.duckdb", "select failure_id from failure order by ended_at limit 1")[0]
    assert older.splitlines()[-1] == f"read more: aiscorr report {name}"
    again = json.loads(run("ingest", failed("job0", "08:00"), "--format", "json").out)
    latest = run("report", "--no-verify", "--format", "json").out
    assert again["latest_failure_id"] == json.loads(latest)["failures"][0]["failure_id"]
