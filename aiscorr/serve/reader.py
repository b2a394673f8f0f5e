"""What the service tells those who ask it: failures, reports, queries and meanings, over HTTP or as tools.

Every answer opens the database again, or the slice of a lake, so that it is of the last ingest; statements run in the
sandbox.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiscorr import __version__
from aiscorr.catalog.explain import explain
from aiscorr.config import Settings
from aiscorr.errors import UsageError
from aiscorr.query.named import NamedQuery, named_queries
from aiscorr.report.document import SCHEMA, Report
from aiscorr.report.overview import read_overview
from aiscorr.sandbox.ask import Sandbox
from aiscorr.sandbox.question import Answer, Limits, Question
from aiscorr.serve.browse import (
    FacetValue,
    FailureFilter,
    FailureList,
    alike,
    facet_values,
    json_records,
    list_failures,
)
from aiscorr.serve.source import source_of
from aiscorr.serve.surroundings import Surroundings, known_lines, read_again

if TYPE_CHECKING:
    import duckdb

#: The named queries of jobs that go on, and of those that may hang now.
RUNNING, HANGING = "running", "hanging"
REPORT_FORMS = ("json", "markdown", "text", "html")
_WIDTH = 110
_JUDGED = """
select f.failure_id, f.job_id, f.failure_class, f.storage_verdict, f.culprit_ranks,
    coalesce(list(n.node_id order by n.position) filter (where n.node_id is not null), []) as node_ids
from failure as f
left join failure_node as n on n.failure_id = f.failure_id
where list_contains($ids, f.failure_id)
group by all order by f.failure_id
"""


class Reader:
    """Answers questions about one database or lake; usable by several threads."""

    def __init__(self, settings: Settings, limits: Limits) -> None:
        self.settings = settings
        self.source = source_of(settings)
        self.sandbox = Sandbox(settings.base_path, limits)

    def connection(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A connection to what the last ingest published."""
        return self.source.opened()

    def notices(self, *, has_rows: bool = True) -> list[str]:
        """What should be known of answers: that a lake cannot be reached, and what rows of it are not looked at."""
        return self.source.notices(has_rows=has_rows)

    def failures(self, wanted: FailureFilter) -> FailureList:
        """The failures that fit. Raises UsageError for a filter that is none."""
        with self.connection() as connection:
            return list_failures(connection, wanted)

    def facets(self, wanted: FailureFilter) -> dict[str, list[FacetValue]]:
        """For each facet the values that are left, with counts."""
        with self.connection() as connection:
            return facet_values(connection, wanted)

    def alike(self, failure_id: str) -> list[FacetValue]:
        """What a failure shares with how many others."""
        with self.connection() as connection:
            return alike(connection, failure_id)

    def surroundings(self, path: str, line_no: int, around: int) -> Surroundings:
        """A line of an ingested file with those around it. Raises UsageError."""
        with self.source.opened(self.source.around(path, line_no)) as connection:
            known = known_lines(connection, path, line_no, around)
        return read_again(known)

    def ingested(self, paths: Collection[str]) -> set[str]:
        """Those of the paths that are files of lines which were read."""
        if not paths:
            return set()
        with self.connection() as connection:
            sql = "select path from source_file where state = 'ingested' and list_contains($paths, path)"
            return {str(path) for (path,) in connection.execute(sql, {"paths": list(paths)}).fetchall()}

    def judged(self, failure_ids: Collection[str]) -> list[dict[str, Any]]:
        """What is said of failures, with the nodes held responsible; those that are not known are left out."""
        if not failure_ids:
            return []
        with self.connection() as connection:
            return json_records(connection, _JUDGED, {"ids": list(failure_ids)})

    def classes(self) -> list[str]:
        """The classes of failures that there are."""
        with self.connection() as connection:
            rows = connection.execute("select failure_class from failure_class order by all").fetchall()
        return [str(row[0]) for row in rows]

    def overview(self, since: datetime, now: datetime) -> Report:
        """The numbers of the failures of a time."""
        with self.connection() as connection:
            overview = read_overview(connection, since, now)
        return Report(SCHEMA, now, __version__, (), overview=overview)

    def report(self, which: str, *, is_verified: bool = True, has_lines: bool = False) -> Report:
        """The report of `latest`, a failure id, its beginning or a job id. Raises UsageError for one there is not.

        `has_lines`: with the lines around those that it cites, as pages show them.
        """
        from aiscorr.report import citation

        report = self.source.report(which, datetime.now(UTC))
        if not is_verified:
            return report
        return citation.read_around(report) if has_lines else citation.read_again(report)

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
        return self._asked(Question(sql, dict(parameters), form, row_count))

    def ask_named(self, name: str, parameters: Mapping[str, str], form: str, row_count: int | None = None) -> Answer:
        """The answer to a named query. Raises UsageError for one there is not."""
        known = self.queries()
        if name not in known:
            raise UsageError(f"no query is called {name!r}", where="named queries", try_this=", ".join(known))
        return self._asked(Question(known[name].sql, dict(parameters), form, row_count, is_named=True))

    def _asked(self, question: Question) -> Answer:
        """The answer; of a failure or a job that a parameter names, from the rows around it."""
        given = question.parameters
        jobs = self.source.jobs_named(given.get("failure") or given.get("job"))
        return self.sandbox.ask(question, self.source.path(jobs))

    def running(self) -> list[dict[str, Any]]:
        """The rows of the named query `running`: jobs that have not ended as far as their logs tell."""
        with self.connection() as connection:
            return json_records(connection, self.queries()[RUNNING].sql, {})

    def hanging(self) -> list[dict[str, Any]]:
        """The rows of the named query `hanging`: jobs that may hang now."""
        with self.connection() as connection:
            return json_records(connection, self.queries()[HANGING].sql, {})

    def explain(self, name: str) -> str:
        """What a name means. Raises UsageError for one that is not known."""
        return "\n\n".join(explain(name, self.settings.pattern_folders, self.settings.query_folders))
