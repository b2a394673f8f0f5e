"""Brings a database up to date: computes its views, then judges the cases that have other rows than before.

A stored view is computed where one of the tables and views that it reads has other rows; where it then holds what it
held before, what reads it is left alone. `changed_table` names the tables whose rows changed; `view_state` says what
each view held and which SQL made it. Views of other SQL, or of another DuckDB, are all made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Judging, judge_cases, judge_in_turn
from aiscorr.analysis.spec import ViewSpec, compute, create_view, view_specs
from aiscorr.errors import DatabaseError, PlanError
from aiscorr.store.database import plan_plainly, reading
from aiscorr.store.working_copy import WorkingCopy

if TYPE_CHECKING:
    import duckdb


_OTHER_VIEWS = "the views of this database were made by another version of aiscorr or DuckDB"
_OTHER_VIEWS_HELP = "aiscorr ingest, on the same logs or an empty folder, makes them anew and reads nothing twice"


#: DuckDB shares a table out to threads by groups of so many rows.
_SHARED_ROWS = 122_880
#: Where a stored view is computed, until it is known to hold something else than before.
_FRESH = "fresh_rows"
#: How many rows a stored view held, and the sum of their hashes.
_Content = tuple[int, str]


def are_views_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the views of the database were made from the SQL of this program, and from all rows that are stored."""
    return _definitions(connection) == _wanted(view_specs()) and not _changed_tables(connection)


@contextlib.contextmanager
def reading_views(
    path: str, memory_limit: str, threads: int | None, warn: Callable[[str], None]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to read the views; tells `warn` of those of another version, raises DatabaseError if they fail."""
    import duckdb

    with reading(path, memory_limit=memory_limit, threads=threads) as connection:
        is_current = are_views_current(connection)
        if not is_current:
            warn(f"warning: {_OTHER_VIEWS}; {_OTHER_VIEWS_HELP}")
        try:
            yield connection
        except duckdb.Error:
            if is_current:
                raise
            raise DatabaseError(_OTHER_VIEWS, where=path, try_this=_OTHER_VIEWS_HELP) from None


def refresh_alone(
    copy: WorkingCopy, then: Callable[[duckdb.DuckDBPyConnection], None], judging: Judging = judge_in_turn
) -> None:
    """Views (see refresh_views) and what stands on them, in a transaction of its own; all else is committed before.

    Where DuckDB fails inside, the copy is opened again and all is done once more with plainer plans: stages of its
    optimizer that rewrite a query break on some rows and not on others (seen with projection_pullup and dict-surviving
    joins of 2.0; once 2.0 asked for 4 GiB at a time for a few rows, and the same logs went well afterwards). Raises
    PlanError where a view fails again.
    """
    import duckdb

    try:
        _refresh(copy.connection, then, judging)
    except (PlanError, duckdb.InternalException, duckdb.FatalException):
        connection = copy.reopen()
        plan_plainly(connection)
        _refresh(connection, then, judging)
    copy.connection.execute("commit")


def _refresh(
    connection: duckdb.DuckDBPyConnection, then: Callable[[duckdb.DuckDBPyConnection], None], judging: Judging
) -> None:
    """One try, in a transaction that is left open."""
    connection.execute("begin")
    refresh_views(connection, judging)
    then(connection)


def _spare_threads(connection: duckdb.DuckDBPyConnection) -> None:
    """Takes one thread as long as the connection lives where no table can be shared out; more would wake in vain."""
    (largest,) = connection.execute("select max(estimated_size) from duckdb_tables()").fetchall()[0]
    if largest < _SHARED_ROWS:
        connection.execute("set threads = 1")


def refresh_views(connection: duckdb.DuckDBPyConnection, judging: Judging = judge_in_turn) -> None:
    """Computes the views whose inputs or SQL changed, and judges the cases that have other rows, in a transaction."""
    specs = view_specs()
    _spare_threads(connection)
    if _definitions(connection) == _wanted(specs):
        judge_cases(connection, _compute_changed(connection, specs), judging)
    else:
        _remove_all(connection)
        of_database, on_results = _in_order(specs)
        _make(connection, of_database)
        judge_cases(connection, None, judging)
        _make(connection, on_results)
        _keep(connection, [spec for spec in specs if spec.is_case], {})
    connection.execute("delete from changed_table")


def _in_order(specs: Sequence[ViewSpec]) -> tuple[list[ViewSpec], list[ViewSpec]]:
    """The views that stand on what was ingested, and those that stand on what cases gave."""
    late = {spec.name for spec in specs if spec.is_case}
    own: tuple[list[ViewSpec], list[ViewSpec]] = ([], [])
    for spec in specs:
        if not spec.is_case:
            is_late = not late.isdisjoint(spec.reads)
            late.update([spec.name] if is_late else [])
            own[is_late].append(spec)
    return own


def _remove_all(connection: duckdb.DuckDBPyConnection) -> None:
    """Removes what other SQL made."""
    for (name,) in connection.execute("select view from view_state").fetchall():
        connection.execute(f"drop view if exists {name}")
        connection.execute(f"drop table if exists stored_{name}")
    connection.execute("delete from view_state")


def _make(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec]) -> None:
    contents: dict[str, _Content] = {}
    for spec in specs:
        if spec.is_stored:
            compute(connection, spec, spec.stored_name)
            contents[spec.name] = _content(connection, spec.stored_name)
        create_view(connection, spec, f"from {spec.stored_name}" if spec.is_stored else None)
    _keep(connection, specs, contents)


def _compute_changed(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec]) -> set[str]:
    """Computes each stored view of which an input changed; gives the tables and views that have other rows now."""
    held = {
        row[0]: row[1:] for row in connection.execute("select view, row_count, content_hash from view_state").fetchall()
    }
    changed = _changed_tables(connection)
    new: dict[str, _Content] = {}
    for spec in specs:
        if spec.is_case or changed.isdisjoint(spec.reads):
            continue
        if spec.is_stored:
            compute(connection, spec, _FRESH)
            content = _content(connection, _FRESH)
            if content == held[spec.name]:
                continue
            connection.execute(f"drop table {spec.stored_name}")
            connection.execute(f"alter table {_FRESH} rename to {spec.stored_name}")
            new[spec.name] = content
        changed.add(spec.name)
    connection.execute(f"drop table if exists {_FRESH}")
    _keep(connection, [spec for spec in specs if spec.name in new], new)
    return changed


def _content(connection: duckdb.DuckDBPyConnection, table: str) -> _Content:
    """What a table holds, whatever the order of its rows."""
    sql = f"select count(*), coalesce(sum(hash(r)), 0)::varchar from {table} as r"
    count, content = connection.execute(sql).fetchall()[0]
    return count, content


def _keep(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec], contents: dict[str, _Content]) -> None:
    """Notes which SQL made the views, and what they hold."""
    rows = [(spec.name, _definition(spec), *contents.get(spec.name, (None, None))) for spec in specs]
    if not rows:
        return
    columns = list(map(list, zip(*rows, strict=True)))
    connection.execute("delete from view_state where list_contains(?, view)", [columns[0]])
    connection.execute(
        "insert into view_state select unnest(?::varchar[]), unnest(?::varchar[]), unnest(?::bigint[]),"
        " unnest(?::varchar[])",
        columns,
    )


def _changed_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("select table_name from changed_table").fetchall()}


def _definitions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The SQL each view was made from, by its hash; none in a database older than the table."""
    import duckdb

    try:
        return dict(connection.execute("select view, definition from view_state").fetchall())
    except duckdb.CatalogException:
        return {}


def _wanted(specs: Sequence[ViewSpec]) -> dict[str, str]:
    return {spec.name: _definition(spec) for spec in specs}


@lru_cache(maxsize=1024)
def _definition(spec: ViewSpec) -> str:
    import duckdb

    text = "\n".join((duckdb.__version__, str((spec.is_stored, spec.is_case, spec.is_kept)), spec.comment, spec.select))
    return hashlib.sha256(text.encode()).hexdigest()
