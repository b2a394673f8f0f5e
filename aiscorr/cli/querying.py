"""`query`: a statement, a named query, the list of views, or the shell."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from aiscorr.cli import completing
from aiscorr.cli.context import Context, emit
from aiscorr.cli.shelling import View
from aiscorr.errors import QueryError, UsageError

if TYPE_CHECKING:
    from aiscorr.query.named import NamedQuery
    from aiscorr.query.tables import Shape

_FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet", "arrow")


@click.command()
@click.argument("sql", required=False, shell_complete=completing.queries)
@click.option("-f", "--file", "file_name", metavar="FILE", help="Read the statement from a file.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="A value for $NAME.",
              shell_complete=completing.parameters)  # fmt: skip
@click.option("--case", "case", metavar="FAILURE", help="Ask all that is computed to judge a failure, step by step.",
              shell_complete=completing.failures)  # fmt: skip
@click.option("--since", metavar="WHEN", help="Of a lake: rows from then on (30d, 6h, 2026-09-14, 2026-09-14T10:00).")
@click.option("--until", metavar="WHEN", help="Of a lake: rows up to then.")
@click.option("--wide", "shape", flag_value="wide", help="A table with all columns next to each other.")
@click.option("--vertical", "shape", flag_value="vertical", help="A table with one value a line.")
@click.option("--list", "is_list", is_flag=True, help="The named queries and the views, with a sentence each.")
@click.option("--describe", metavar="VIEW", help="What a view is, and its columns.",
              shell_complete=completing.views)  # fmt: skip
@click.pass_obj
def query(
    context: Context, sql: str | None, file_name: str | None, form: str, output: str | None,
    parameters: Sequence[str], case: str | None, since: str | None, until: str | None, shape: Shape | None,
    is_list: bool, describe: str | None,
) -> int:  # fmt: skip
    """Run one SQL statement, `-` for stdin, @NAME for a named query; with nothing, an interactive shell."""
    if is_list or describe:
        text = _describe(describe) if describe else _list_views(context)
        context.show([text]) if output is None else emit(text, output)
    elif sql is None and file_name is None and sys.stdin.isatty():
        _shell(context)
    else:
        asked, given = _asked(context, sql, file_name), _pairs(parameters)
        path = _path(context, case or given.get("failure"), since, until)
        _run_query(context, asked, View(form, shape or "auto", None), output, given, case, path)
    return 0


def _asked(context: Context, sql: str | None, file_name: str | None) -> NamedQuery | str:
    """The named query that `@NAME` stands for, else the statement."""
    from aiscorr.query.named import named_query

    if sql is not None and file_name is not None:
        raise UsageError("a statement and -f at once", where="aiscorr query", try_this="leave one of them away")
    if file_name is not None and file_name != "-":
        try:
            with open(file_name, encoding="utf-8") as handle:
                return handle.read()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the file cannot be read: {error}", where=file_name, try_this="check -f") from None
    if sql is None or sql == "-":
        try:
            return sys.stdin.read()
        except UnicodeDecodeError as error:
            raise UsageError(f"the statement is not UTF-8: {error}", where="stdin", try_this="convert it") from None
    if sql.startswith("@"):
        return named_query(sql[1:], context.settings.query_folders)
    return sql


def _path(context: Context, failure: str | None, since: str | None, until: str | None) -> str:
    """The path of the database; of a lake that of a slice of a time, of one around a failure, or of the newest rows."""
    if since is None and until is None:
        return context.path_of(failure) if failure else context.db_path()
    if context.settings.lake is None:
        raise UsageError(
            "a database file is asked whole",
            where="--since, --until",
            try_this="a condition on a time in the statement",
        )
    from aiscorr.lake.local import Wanted
    from aiscorr.report.period import moment_since

    now = datetime.now(UTC)
    begin, end = (
        default if text is None else int(moment_since(text, now, where).timestamp() * 1e9)
        for text, where, default in ((since, "--since", 0), (until, "--until", int(now.timestamp() * 1e9)))
    )
    if end <= begin:
        raise UsageError("the time ends before it begins", where="--since, --until", try_this="exchange them")
    return context.db_path(Wanted(span_ns=(begin, end)))


def _pairs(parameters: Sequence[str]) -> dict[str, str]:
    found = {}
    for item in parameters:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise UsageError(f"{item!r} is not NAME=VALUE", where="-p", try_this="-p failure=5120341.0-20261120T230553")
        found[name] = value
    return found


def _run_query(
    context: Context, asked: NamedQuery | str, view: View, output: str | None, parameters: dict[str, str],
    case: str | None = None, path: str | None = None,
) -> None:  # fmt: skip
    from aiscorr.query.formats import write_text
    from aiscorr.query.named import why_no_rows
    from aiscorr.query.shell import terminal_width
    from aiscorr.query.statement import BINARY_FORMATS, fetch, run, write_binary
    from aiscorr.report.failure_choice import whole_names

    sql, form = asked if isinstance(asked, str) else asked.sql, view.form
    if form in BINARY_FORMATS and output is None and sys.stdout.isatty():
        raise UsageError(f"{form} is binary", where="--format", try_this=f"add -o result.{form}")
    with context.reading(path) if case is None else _reading_case(context, case, path) as connection:
        if not isinstance(asked, str) and case is None:
            parameters = whole_names(connection, parameters)
        try:
            result = run(connection, sql, parameters)
        except QueryError as error:
            raise _elsewhere(error, case) or error from None
        if form in BINARY_FORMATS:
            with _binary_output(output) as target:
                write_binary(result, sql, form, target)
            return
        rows = fetch(result, sql, view.most)
        hint = "" if isinstance(asked, str) or rows.rows else why_no_rows(connection, asked, parameters)
    if output is None:
        width = terminal_width() if sys.stdout.isatty() else None
        context.show([write_text(rows, form, width=width, shape=view.shape)], is_wide=view.shape == "wide")
    else:
        emit(write_text(rows, form, shape=view.shape), output)
    if rows.is_cut:
        context.say(f"only the first {len(rows.rows):,} rows; all of them: .limit 0")
    if hint:
        context.say(f"no rows: {hint}")


def _elsewhere(error: QueryError, case: str | None) -> QueryError | None:
    """What to say where a view has rows only while a case is judged, or only in the database, which was not asked."""
    from aiscorr.analysis.spec import view_specs

    missing = re.search(r"Table with name (\w+) does not exist", error.what)
    spec = next((spec for spec in view_specs() if missing and spec.name == missing[1]), None)
    if spec is None or spec.is_in_database != (case is not None):
        return None
    if case is not None:
        said = f"{spec.name} is computed of all logs, before a failure is judged"
        return QueryError(said, where=error.where, try_this="the same without --case")
    said = f"{spec.name} has rows only while a failure is judged"
    return QueryError(said, where=error.where, try_this="add --case latest, or --case and the id of a failure")


@contextlib.contextmanager
def _reading_case(context: Context, case: str, path: str | None) -> Iterator[Any]:
    """What a failure is judged from, and all that is computed of it, as tables of a database in memory."""
    from aiscorr.analysis.cases import inputs_of
    from aiscorr.analysis.judge import opened
    from aiscorr.report.failure_choice import failure_ids

    with context.reading(path) as connection:
        names = failure_ids(connection, case)
        if not names:
            raise UsageError("no failure is known so far", where="--case", try_this="aiscorr ingest PATH…")
        (job,) = connection.execute("select job_id from failure where failure_id = ?", [names[0]]).fetchall()[0]
        inputs = inputs_of(connection, job)
    with opened(inputs, memory_limit=context.settings.memory_limit) as judged:
        yield judged


@contextlib.contextmanager
def _binary_output(output: str | None) -> Iterator[Any]:
    if output is None or output == "-":
        yield sys.stdout.buffer
        return
    try:
        with open(output, "wb") as target:
            try:
                yield target
            except QueryError:
                if os.path.isfile(output):
                    os.remove(output)
                raise
    except OSError as error:
        raise UsageError(f"the file cannot be written: {error.strerror}", where=output, try_this="check -o") from None


def _list_views(context: Context, word: str = "") -> str:
    """The named queries and views, of which the name or sentence holds a word."""
    from aiscorr.analysis.spec import view_specs
    from aiscorr.query.named import named_queries

    specs = [spec for spec in view_specs() if spec.is_in_database and word in f"{spec.name} {spec.sentence}"]
    known = named_queries(context.settings.query_folders).items()
    queries = {name: item for name, item in known if word in f"{name} {item.sentence}"}
    if not specs and not queries:
        raise UsageError(f"no view or query has {word!r}", where=".tables", try_this="aiscorr query --list")
    size = max(len(name) for name in (*queries, *(spec.name for spec in specs))) + 2
    lines = ["named queries (aiscorr query @NAME):"]
    lines += [f"  @{name:<{size - 1}}{item.sentence}" for name, item in queries.items()]
    lines += ["", "views that others may rely on:"]
    lines += [f"  {spec.name:<{size}}{spec.sentence}" for spec in specs if spec.is_public]
    lines += ["", "further views:"]
    lines += [f"  {spec.name:<{size}}{spec.sentence}" for spec in specs if not spec.is_public]
    return "\n".join(lines) + "\n"


def _describe(view: str) -> str:
    from aiscorr.catalog.columns import column_meanings, describe

    return describe(view, column_meanings())


def _shell(context: Context) -> None:
    from aiscorr.cli.shelling import Shell, shell_names
    from aiscorr.query.shell import run_shell

    def ask(text: str, given: dict[str, str], view: View) -> None:
        _run_query(context, _asked(context, text, None), view, None, given)

    def complain(text: str) -> None:
        click.echo(text, err=True)

    shell = Shell(context, ask, lambda word: _list_views(context, word), _describe, View())
    run_shell(shell.execute, lambda: shell_names(context), context.say, complain, dict(os.environ))
