"""Brings a database up to date: computes its views, then judges the cases that have other rows than before.

A stored view is computed where one of the tables and views that it reads has other rows; where it then holds what it
held before, what reads it is left alone. `changed_table` names the tables whose rows changed; `view_state` says what
each view held and which SQL made it. Views of other SQL, or of another DuckDB, are all made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Judging, Part, judge_cases, judge_in_turn
from aiscorr.analysis.needs import Presence
from aiscorr.analysis.order import Step, in_order, plan_for
from aiscorr.analysis.spec import ViewSpec, compute, create_view, view_specs
from aiscorr.errors import DatabaseError, PlanError
from aiscorr.schema.tables import TABLES
from aiscorr.store.database import reading
from aiscorr.store.working_copy import WorkingCopy

if TYPE_CHECKING:
    import duckdb


_OTHER_VIEWS = "the views of this database were made by another version of aiscorr or DuckDB"
_OTHER_VIEWS_HELP = "aiscorr ingest, on the same logs or an empty folder, makes them again and reads nothing twice"


#: DuckDB shares a table out to threads by groups of so many rows.
_SHARED_ROWS = 122_880
#: How many rows a stored view held, and the sum of their hashes.
_Content = tuple[int, str]
#: Is told how far the analysis is: `views` or `cases`, how many are done, and how many there are.
Tell = Callable[[str, int, int], None]
_NOTHING: _Content = (0, "0")


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
    copy: WorkingCopy,
    then: Callable[[duckdb.DuckDBPyConnection], None],
    judging: Judging = judge_in_turn,
    threads: int = 1,
    tell: Tell = lambda step, done, count: None,
    part: Part | None = None,
) -> None:
    """Brings a working copy up to date (see refresh_views), and what stands on it; all else is committed before.

    Where DuckDB fails inside, the copy is opened again and all is done once more, planned the other way: stages of its
    optimizer that rewrite a query break on some rows and not on others (seen with projection_pullup and dict-surviving
    joins of 2.0; once 2.0 asked for 4 GiB at a time for a few rows, and the same logs went well afterwards). A copy
    that is opened again may take all memory that it was opened with. Raises PlanError where a view fails again.
    """
    import duckdb

    copy.save()
    try:
        refresh_views(copy.connection, judging, then, threads, tell, part)
    except (PlanError, duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException):
        refresh_views(copy.reopen(), judging, then, tell=tell, part=part, is_again=True)


def refresh_views(
    connection: duckdb.DuckDBPyConnection,
    judging: Judging = judge_in_turn,
    then: Callable[[duckdb.DuckDBPyConnection], None] = lambda connection: None,
    threads: int = 1,
    tell: Tell = lambda step, done, count: None,
    part: Part | None = None,
    is_again: bool = False,
) -> None:
    """Computes the views whose inputs or SQL changed, then judges the cases that have other rows.

    The views are committed one by one, so that several can be computed at a time; where it ends early it begins again.
    What cases gave, and what `then` does, is one transaction. `part`: the database holds a part (see judge_cases).
    `is_again`: after DuckDB failed inside (see plan_for).
    """
    specs = view_specs()
    (largest,) = connection.execute("select max(estimated_size) from duckdb_tables()").fetchall()[0]
    plan_for(connection, largest, is_again)
    count = _cursors(connection, threads, largest)
    if _definitions(connection) == _wanted(specs):
        changed, contents, presence = _compute_changed(connection, specs, count, tell)
        late: list[ViewSpec] = []
    else:
        _remove_all(connection)
        of_database, late = _in_order(specs)
        changed = None
        contents, presence = _make(connection, of_database, count, tell)
    connection.execute("begin")
    judge_cases(connection, changed, judging, presence.has_rows, partial(tell, "cases"), part)
    for spec in late:
        create_view(connection, spec)
    _keep(connection, specs if changed is None else [spec for spec in specs if spec.name in contents], contents)
    then(connection)
    connection.execute("delete from changed_table")
    connection.execute("commit")


def _cursors(connection: duckdb.DuckDBPyConnection, threads: int, largest: int) -> int:
    """How many views are computed at a time: several where no table can be shared out to threads, which then rest."""
    if largest >= _SHARED_ROWS:
        return 1
    connection.execute("set threads = 1")
    return threads


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


def _make(
    connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec], threads: int, tell: Tell
) -> tuple[dict[str, _Content], Presence]:
    """Makes views again; gives what the stored ones hold, and which have rows."""
    contents: dict[str, _Content] = {}
    presence = Presence(_tables_with_rows(connection), is_patient=True)

    def make(cursor: duckdb.DuckDBPyConnection, spec: ViewSpec) -> None:
        if not spec.is_stored:
            create_view(cursor, spec)
            presence.note(spec, None)
            return
        columns = presence.columns(spec)
        if columns is None:
            contents[spec.name] = _computed(cursor, spec, spec.stored_name)
            presence.note(spec, contents[spec.name][0])
        else:
            cursor.execute(f"create or replace table {spec.stored_name} ({columns})")
            contents[spec.name] = _NOTHING
        create_view(cursor, spec, f"from {spec.stored_name}")

    in_order(connection, specs, _told(make, len(specs), tell), threads)
    presence.keep(connection, {spec.name: spec.stored_name for spec in specs if spec.is_stored})
    return contents, presence


def _tables_with_rows(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {t.name for t in TABLES if connection.execute(f"select 1 from {t.name} limit 1").fetchall()}


def _compute_changed(
    connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec], threads: int, tell: Tell
) -> tuple[set[str], dict[str, _Content], Presence]:
    """Computes each stored view of which an input changed.

    Gives the tables and views that have other rows now, what the stored ones among them hold, and which have rows.
    """
    held = {row[0]: row[2:] for row in connection.execute("from view_state").fetchall()}
    changed = _changed_tables(connection)
    contents: dict[str, _Content] = {}
    presence = Presence(_tables_with_rows(connection), is_patient=True)

    def renew(cursor: duckdb.DuckDBPyConnection, spec: ViewSpec) -> None:
        is_empty = held[spec.name] == _NOTHING
        if changed.isdisjoint(spec.reads) or (is_empty and not presence.may_have_rows(spec)):
            presence.note(spec, held[spec.name][0])
            return
        if spec.is_stored:
            fresh = f"fresh_{spec.name}"
            content = _computed(cursor, spec, fresh)
            presence.note(spec, content[0])
            if content == held[spec.name]:
                cursor.execute(f"drop table {fresh}")
                return
            cursor.execute(f"drop table if exists {spec.stored_name}")
            cursor.execute(f"alter table {fresh} rename to {spec.stored_name}")
            contents[spec.name] = content
        else:
            presence.note(spec, None)
        changed.add(spec.name)

    of_database = [spec for spec in specs if not spec.is_case]
    in_order(connection, of_database, _told(renew, len(of_database), tell), threads)
    return changed, contents, presence


def _told(step: Step, count: int, tell: Tell) -> Step:
    """The step, after which is told how many views are done."""
    done = itertools.count(1)

    def stepped(connection: duckdb.DuckDBPyConnection, spec: ViewSpec) -> None:
        step(connection, spec)
        tell("views", next(done), count)

    return stepped


def _computed(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> _Content:
    """Puts the rows of a view into a table; gives what it holds, whatever the order of its rows."""
    if not compute(connection, spec, table):
        return _NOTHING
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
