"""What the service tells those who ask it: failures, reports, queries and meanings, over HTTP or as tools.

Every answer opens the database again, so that it is of the last ingest; statements run in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiscorr.catalog.explain import explain
from aiscorr.config import Settings
from aiscorr.errors import UsageError
from aiscorr.query.named import NamedQuery, named_queries
from aiscorr.report.document import Report, to_json
from aiscorr.report.period import moment_since
from aiscorr.sandbox.ask import Sandbox
from aiscorr.sandbox.question import Answer, Limits, Question
from aiscorr.store.database import reading_newest
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

MOST_FAILURES = 1000
#: The named query of jobs that may hang now.
HANGING = "hanging"
REPORT_FORMS = ("json", "markdown", "text", "html")
_WIDTH = 110
#: How long an answer waits where another program has the database open for writing.
_WAIT_S = 1.0
_FAILURES = """
select failure_id, job_id, attempt, cluster, failure_class, failure_kind, storage_verdict, confidence, statement,
    culprit_ranks, hang_started_at, first_error_at, ended_at, count(*) over () as total
from failure
where ($job is null or job_id = $job)
    and ($class is null or failure_class = $class)
    and ($verdict is null or storage_verdict = $verdict)
    and ($since is null or coalesce(ended_at, first_error_at, hang_started_at) >= make_timestamp_ns($since))
order by coalesce(ended_at, first_error_at, hang_started_at) desc nulls last, failure_id desc
limit $limit offset $offset
"""


@dataclass(frozen=True)
class FailureFilter:
    """Which failures are asked for; None: all. `since`: a day, a moment in UTC, or how long ago, such as 7d."""

    job: str | None = None
    since: str | None = None
    failure_class: str | None = None
    verdict: str | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True)
class FailureList:
    """Failures as JSON values, the newest first, and how many there are in all."""

    total: int
    failures: list[dict[str, Any]]


class Reader:
    """Answers questions about one database; usable by several threads."""

    def __init__(self, settings: Settings, limits: Limits) -> None:
        self.settings = settings
        self.sandbox = Sandbox(settings.db_path, limits)

    @contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to what the last ingest published."""
        settings = self.settings
        with reading_newest(
            settings.db_path, memory_limit=settings.memory_limit, threads=settings.thread_count, wait_s=_WAIT_S
        ) as connection:
            yield connection

    def failures(self, wanted: FailureFilter, now: datetime | None = None) -> FailureList:
        """The failures that fit. Raises UsageError for a time or a number that is none."""
        if not 0 <= wanted.limit <= MOST_FAILURES or wanted.offset < 0:
            raise UsageError(
                f"'limit' is 0 to {MOST_FAILURES} and 'offset' 0 or more", where="failures", try_this="correct it"
            )
        since = moment_since(wanted.since, now or datetime.now(UTC), "since") if wanted.since else None
        values = {
            "job": wanted.job, "class": wanted.failure_class, "verdict": wanted.verdict, "limit": wanted.limit,
            "offset": wanted.offset, "since": None if since is None else int(since.timestamp() * 1e6) * 1000,
        }  # fmt: skip
        with self.connection() as connection:
            rows = _records(connection, _FAILURES, values)
            total = rows[0]["total"] if rows else 0
            if not rows and (wanted.offset or not wanted.limit):
                total = _records(connection, _FAILURES, {**values, "limit": 1, "offset": 0})
                total = total[0]["total"] if total else 0
        return FailureList(total, [{name: row[name] for name in row if name != "total"} for row in rows])

    def report(self, which: str, *, is_verified: bool = True, has_lines: bool = False) -> Report:
        """The report of `latest`, a failure id, its beginning or a job id. Raises UsageError for one there is not.

        `has_lines`: with the lines around those that it cites, as pages show them.
        """
        from aiscorr.report.build import build_report
        from aiscorr.report.citation import read_again, read_around

        with self.connection() as connection:
            report = build_report(connection, which, datetime.now(UTC))
        if has_lines and is_verified:
            return read_around(report)
        return read_again(report) if is_verified else report

    def report_text(self, which: str, form: str, *, is_verified: bool = True) -> str:
        """The report in one of `REPORT_FORMS`."""
        from aiscorr.report import render
        from aiscorr.report.html import render_html

        report = self.report(which, is_verified=is_verified, has_lines=form == "html")
        if form == "json":
            return render.render_json(report)
        if form == "markdown":
            return render.render_markdown(report)
        return render_html(report) if form == "html" else render.render_text(report, width=_WIDTH, color=False)

    def queries(self) -> dict[str, NamedQuery]:
        """The named queries, the site's own included."""
        return named_queries(self.settings.query_folders)

    def ask(self, sql: str, parameters: Mapping[str, str], form: str, row_count: int | None = None) -> Answer:
        """The answer to a statement from outside."""
        return self.sandbox.ask(Question(sql, dict(parameters), form, row_count))

    def ask_named(self, name: str, parameters: Mapping[str, str], form: str, row_count: int | None = None) -> Answer:
        """The answer to a named query. Raises UsageError for one there is not."""
        known = self.queries()
        if name not in known:
            raise UsageError(f"no query is called {name!r}", where="named queries", try_this=", ".join(known))
        return self.sandbox.ask(Question(known[name].sql, dict(parameters), form, row_count, is_named=True))

    def hanging(self) -> list[dict[str, Any]]:
        """The rows of the named query `hanging`: jobs that may hang now."""
        with self.connection() as connection:
            return _records(connection, self.queries()[HANGING].sql, {})

    def explain(self, name: str) -> str:
        """What a name means. Raises UsageError for one that is not known."""
        return "\n\n".join(explain(name, self.settings.pattern_folders, self.settings.query_folders))


def _records(connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{name: to_json(value) for name, value in row.items()} for row in records(connection, sql, values)]
