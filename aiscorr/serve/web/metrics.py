"""What a scrape is told, in the text format of Prometheus: runs, lag, failures by class, rows, errors, reports.

Written out here and not with a library, whose registry is one for the whole process and counts what happens in it;
these values are read from the database, the ledger and the reports each time.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiscorr import __version__
from aiscorr.errors import AiscorrError
from aiscorr.lake.ledger import ledger
from aiscorr.pull.spool import files_of
from aiscorr.schema.tables import TABLES
from aiscorr.serve.fetch import spool_options
from aiscorr.serve.ledger import Mark, ServiceRun, runs_since
from aiscorr.serve.notify import delivery_counts
from aiscorr.serve.reports import report_counts

if TYPE_CHECKING:
    import duckdb

    from aiscorr.serve.reader import Reader

#: A file that has its day from when it was copied may be days off: it counts where no other has a day of its own. A
#: clock may be a little ahead.
_NEWEST = """
with dated as (
    select s.kind, coalesce(s.cluster, '') as cluster, s.last_at,
        i.date_method = 'mtime' and (s.kind = 'ais_log' or c.method is distinct from 'anchor') as is_guessed
    from source_file as s
    join ingested_file as i on i.file_id = s.file_id
    left join clock as c on c.file_id = s.file_id
    where s.kind in ('ais_log', 'worker_log') and s.last_at is not null
),
best as (
    select * from dated
    qualify not coalesce(is_guessed, false) or bool_and(coalesce(is_guessed, false)) over (partition by kind, cluster)
)
select kind, cluster,
    epoch_ns(max(last_at) filter (where last_at <= make_timestamp_ns($now) + interval 5 minutes)) / 1e9 as newest_s,
    epoch_ns(max(last_at)) / 1e9 as latest_s
from best group by all order by all
"""
_FAILURES = """
select failure_class, storage_verdict, count(*) from failure group by all order by all
"""
_ROWS = "select table_name, estimated_size from duckdb_tables() where not starts_with(table_name, 'stored_') order by 1"
_INGESTS = "select outcome, count(*) from ingest_run group by all order by all"
_PROBLEMS = "select kind, count(*) from source_file where problem is not null group by all order by all"

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Metric:
    """One metric: its name without `aiscorr_`, kind, meaning, and values by labels."""

    name: str
    kind: str
    meaning: str
    values: tuple[tuple[Labels, float], ...]

    def text(self) -> str:
        """The metric in the text format."""
        name = f"aiscorr_{self.name}"
        lines = [f"# HELP {name} {self.meaning}", f"# TYPE {name} {self.kind}"]
        for labels, value in self.values:
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
            lines.append(f"{name}{{{shown}}} {_number(value)}" if shown else f"{name} {_number(value)}")
        return "\n".join(lines) + "\n"


class RunCounts:
    """Counts the runs of the ledger by kind and outcome; a scrape reads only the lines that are new."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._mark = Mark()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._last: ServiceRun | None = None

    def read(self) -> tuple[Mapping[tuple[str, str], int], ServiceRun | None]:
        """The counts, and the last run."""
        with self._guard:
            runs, self._mark, is_anew = runs_since(self._path, self._mark)
            if is_anew:
                self._counts.clear()
                self._last = None
            for run in runs:
                self._counts[run.kind, run.outcome] += 1
                self._last = run
            return dict(self._counts), self._last


def metrics_text(reader: Reader, counts: RunCounts, reports: str, now: datetime | None = None) -> str:
    """All metrics; those of a database that cannot be read are left out, and `aiscorr_up` is 0."""
    now = now or datetime.now(UTC)
    found = [Metric("info", "gauge", "The version that runs.", (((("version", __version__),), 1),))]
    found += _runs(counts, now)
    found += _written(reports)
    try:
        with reader.connection() as connection:
            found += [Metric("up", "gauge", "Whether the database can be read.", (((), 1),))]
            found += _database(connection, now)
            found += _sizes(reader, connection)
    except AiscorrError:
        found = [metric for metric in found if metric.name != "up"]
        found.append(Metric("up", "gauge", "Whether the database can be read.", (((), 0),)))
    spool = spool_options(reader.settings, reader.settings.pull).folder
    size = sum(size for _, size in files_of(Path(spool)))
    found.append(Metric("spool_bytes", "gauge", "Size of what pulls have fetched.", (((), size),)))
    return "".join(metric.text() for metric in found)


def _runs(counts: RunCounts, now: datetime) -> Iterator[Metric]:
    by_kind, last = counts.read()
    yield Metric(
        "runs_total", "counter", "Runs of the service in its ledger.",
        tuple(((("kind", kind), ("outcome", outcome)), count) for (kind, outcome), count in sorted(by_kind.items())),
    )  # fmt: skip
    if last is None:
        return
    began, ended = last.began.timestamp(), datetime.fromisoformat(last.ended_at).timestamp()
    kind: Labels = (("kind", last.kind), ("outcome", last.outcome))
    yield Metric("last_run_start_timestamp_seconds", "gauge", "When the last run began.", ((kind, began),))
    yield Metric("last_run_end_timestamp_seconds", "gauge", "When the last run ended.", ((kind, ended),))
    yield Metric("last_run_age_seconds", "gauge", "Time since the last run ended.", (((), now.timestamp() - ended),))
    yield Metric("last_run_problems", "gauge", "What went wrong in the last run.", (((), len(last.problems)),))


def _database(connection: duckdb.DuckDBPyConnection, now: datetime) -> Iterator[Metric]:
    def rows(sql: str) -> list[tuple[str, ...]]:
        return connection.execute(sql).fetchall()

    yield from _lag(connection, now)
    yield Metric(
        "failures", "gauge", "Failures known, by class and by what is said of storage.",
        tuple(
            ((("failure_class", name), ("storage_verdict", verdict)), float(count))
            for name, verdict, count in rows(_FAILURES)
        ),
    )  # fmt: skip
    yield Metric("ingests_total", "counter", "Ingests into the database, by outcome.", _by("outcome", rows(_INGESTS)))
    yield Metric("files_with_problem", "gauge", "Files not read, or not to the end.", _by("kind", rows(_PROBLEMS)))


def _sizes(reader: Reader, connection: duckdb.DuckDBPyConnection) -> Iterator[Metric]:
    """How much is stored; of a lake as its catalogue says, without that where it cannot be reached."""
    size: int | None = None
    stored: list[tuple[str, int]] = []
    if reader.settings.lake is None:
        stored = connection.execute(_ROWS).fetchall()
        with contextlib.suppress(OSError):
            size = os.stat(reader.settings.db_path).st_size
    else:
        with contextlib.suppress(AiscorrError), ledger(reader.settings.lake) as book:
            size, rows = book.sizes()
            stored = [(table.name, rows[table.name]) for table in TABLES if table.name in rows]
        yield Metric(
            "lake_reached", "gauge", "Whether the catalogue of the lake answers.", (((), float(size is not None)),)
        )
    if size is not None:
        yield Metric("database_bytes", "gauge", "Size of the database file, or of a lake's Parquet.", (((), size),))
    yield Metric("rows", "gauge", "Rows stored, by table.", _by("table", stored))
    rejects = [row for row in stored if row[0] == "rejected_line"]
    yield Metric(
        "rejects", "gauge", "Lines that could not be understood.", tuple(((), float(row[1])) for row in rejects)
    )


def _lag(connection: duckdb.DuckDBPyConnection, now: datetime) -> Iterator[Metric]:
    """How old the newest line is; lines that lie ahead of now are no news, and have a metric of their own."""
    at = now.timestamp()
    found = connection.execute(_NEWEST, {"now": int(at * 1e6) * 1000}).fetchall()
    labels: list[Labels] = [(("kind", kind), ("cluster", cluster)) for kind, cluster, _, _ in found]
    yield Metric(
        "lag_seconds", "gauge", "Time since the newest line that is stored, by kind of log and cluster.",
        tuple((label, max(at - row[2], 0)) for label, row in zip(labels, found, strict=True) if row[2] is not None),
    )  # fmt: skip
    yield Metric(
        "lines_ahead_seconds", "gauge", "How far stored lines lie ahead of now: a clock or a time zone is wrong.",
        tuple((label, max(row[3] - at, 0)) for label, row in zip(labels, found, strict=True)),
    )  # fmt: skip


def _written(reports: str) -> Iterator[Metric]:
    whole, partial = report_counts(reports)
    yield Metric(
        "reports", "gauge", "Reports written; partial ones lack worker logs.",
        (((("state", "whole"),), whole), ((("state", "partial"),), partial)),
    )  # fmt: skip
    yield Metric(
        "notifications", "gauge", "Failures that a target was told of, is to be told of again, or was not told of.",
        tuple(
            ((("target", target), ("state", state)), count)
            for (target, state), count in sorted(delivery_counts(reports).items())
        ),
    )  # fmt: skip


def _by(label: str, rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[Labels, float], ...]:
    return tuple((((label, str(row[0])),), float(row[1])) for row in rows)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.3f}"
