"""Brings the views of a database up to date: computes anew what stands on other rows or other SQL than last time.

A stored view is computed where a row and a column that it uses changed in one of its inputs. Where it then holds what
it held before, or something else only in rows and columns that are not used, what stands on it is left alone.
`changed_table` names the tables whose rows changed; `view_state` says what each view held and which SQL made it. Views
of other SQL, or of another DuckDB, are all made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from aiscorr.cache import key_of
from aiscorr.errors import DatabaseError, PlanError
from aiscorr.store.database import reading
from aiscorr.store.working_copy import WorkingCopy
from aiscorr.views.changes import FEW_ROWS, hashes, that_see, that_see_files
from aiscorr.views.inputs import Use, view_uses
from aiscorr.views.spec import Source, ViewSpec, build_view, compute, view_specs

if TYPE_CHECKING:
    import duckdb


_OTHER_VIEWS = "the views of this database were made by another version of aiscorr or DuckDB"
_OTHER_VIEWS_HELP = "aiscorr ingest, on the same logs or an empty folder, makes them anew and reads nothing twice"


@dataclass(frozen=True)
class _Content:
    """How many rows a stored view held, and the sum of their hashes; nulls for a view that is not stored."""

    row_count: int | None
    content_hash: str | None


_NOTHING = _Content(0, "0")
#: DuckDB shares a table out to threads by groups of so many rows.
_SHARED_ROWS = 122_880
#: Where a stored view is computed, until it is known to hold something else than before.
_FRESH = "fresh_rows"
#: The stages of DuckDB's optimizer without which a view of many rows takes too long; the others only save some time.
_NEEDED_STAGES = (
    *("expression_rewriter", "filter_pullup", "filter_pushdown", "in_clause", "join_order", "deliminator"),
    *("unnest_rewriter", "unused_columns", "column_lifetime", "limit_pushdown", "top_n", "build_side_probe_side"),
)


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
    copy: WorkingCopy, then: Callable[[duckdb.DuckDBPyConnection], None], stale: Collection[str] | None = None
) -> None:
    """Views (see refresh_views) and what stands on them, in a transaction of its own; all else is committed before.

    Where DuckDB fails inside, the copy is opened again and all is done once more with plainer plans: stages of its
    optimizer that rewrite a query break on some rows and not on others (seen with projection_pullup and dict-surviving
    joins of 2.0; once 2.0 asked for 4 GiB at a time for a few rows, and the same logs went well afterwards). Raises
    PlanError where a view fails again.
    """
    import duckdb

    try:
        _refresh(copy.connection, then, stale)
    except (PlanError, duckdb.InternalException, duckdb.FatalException):
        connection = copy.reopen()
        _plan_plainly(connection)
        _refresh(connection, then, stale)
    copy.connection.execute("commit")


def _refresh(
    connection: duckdb.DuckDBPyConnection,
    then: Callable[[duckdb.DuckDBPyConnection], None],
    stale: Collection[str] | None,
) -> None:
    """One try, in a transaction that is left open."""
    connection.execute("begin")
    refresh_views(connection, stale)
    then(connection)


def _spare_threads(connection: duckdb.DuckDBPyConnection) -> None:
    """Takes one thread as long as the connection lives where no table can be shared out; more would wake in vain."""
    (largest,) = connection.execute("select max(estimated_size) from duckdb_tables()").fetchall()[0]
    if largest < _SHARED_ROWS:
        connection.execute("set threads = 1")


def _plan_plainly(connection: duckdb.DuckDBPyConnection) -> None:
    """Leaves out the stages of the optimizer that are not needed, as long as the connection lives."""
    stages = {name for (name,) in connection.execute("select name from duckdb_optimizers()").fetchall()}
    connection.execute(f"set disabled_optimizers = '{','.join(sorted(stages.difference(_NEEDED_STAGES)))}'")


def refresh_views(connection: duckdb.DuckDBPyConnection, stale: Collection[str] | None = None) -> None:
    """Computes the views whose inputs or SQL changed since they were computed; the caller's transaction holds it.

    `stale`: those that use what changed in the stored tables, where that is known; else all that use these tables.
    """
    specs = view_specs()
    _spare_threads(connection)
    if _definitions(connection) == _wanted(specs):
        _compute_changed(connection, specs, stale)
    else:
        _compute_all(connection, specs)
    connection.execute("delete from changed_table")


def stale_views(connection: duckdb.DuckDBPyConnection, file_ids: Collection[int]) -> set[str]:
    """The views that use what the open transaction changed in the stored tables: rows of these files, of no others."""
    readers = _readers(view_specs())
    tables = _changed_tables(connection)
    return {name for table in tables for name in that_see_files(connection, table, file_ids, readers.get(table, {}))}


def _readers(specs: Sequence[ViewSpec]) -> dict[str, dict[str, Use]]:
    """For each table and stored view the stored views that stand on it, with what they use of it."""
    uses = view_uses(tuple(specs))
    found: dict[str, dict[str, Use]] = {}
    for spec in specs:
        for name, use in uses[spec.name].items() if spec.is_stored else ():
            found.setdefault(name, {})[spec.name] = use
    return found


def definitions_key() -> str:
    """A name for the SQL of this program and the DuckDB that runs it."""
    return key_of(definition for _, definition in sorted(_wanted(view_specs()).items()))


def _compute_all(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec]) -> None:
    """Makes every view, and removes those that are no more."""
    for (name,) in connection.execute("select view from view_state").fetchall():
        connection.execute(f"drop view if exists {name}")
        connection.execute(f"drop table if exists stored_{name}")
    connection.execute("delete from view_state")
    contents: dict[str, _Content | None] = {}
    for spec in specs:
        build_view(connection, spec)
        contents[spec.name] = _content_of(connection, spec.stored_name) if spec.is_stored else None
    _keep(connection, specs, contents)


def _compute_changed(
    connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec], known_stale: Collection[str] | None
) -> None:
    """Computes the stored views that stand on something that changed; a plain view changes with what it reads."""
    readers = _readers(specs)
    held = {
        row[0]: _Content(row[1], row[2])
        for row in connection.execute("select view, row_count, content_hash from view_state").fetchall()
    }
    stored = {spec.name: spec for spec in specs if spec.is_stored}
    changed = {name for table in _changed_tables(connection) for name in readers.get(table, {})}
    stale = changed if known_stale is None else set(known_stale)
    there = _Presence(connection, held)
    new: dict[str, _Content | None] = {}
    for name, spec in stored.items():
        before = held[name]
        if name not in stale or not (before.row_count or there.may_have_rows(spec)):
            continue
        row_count = compute(connection, spec, _FRESH)
        rows = hashes(connection, _FRESH) if 0 < row_count <= FEW_ROWS else None
        content = _content(connection, row_count, rows)
        if content == before:
            continue
        held[name] = content
        waiting = {
            reader: use
            for reader, use in readers.get(name, {}).items()
            if reader not in stale and not there.stays_empty(stored[reader])
        }
        most = max(before.row_count or 0, row_count)
        stale |= that_see(connection, (spec.stored_name, _FRESH), waiting, most, rows)
        connection.execute(f"drop table {spec.stored_name}")
        connection.execute(f"alter table {_FRESH} rename to {spec.stored_name}")
        new[name] = content
    connection.execute(f"drop table if exists {_FRESH}")
    _keep(connection, [stored[name] for name in new], new)


class _Presence:
    """Whether there are rows of which some must be there for a view to have any; each question is asked once.

    `held`: what views hold that are computed already.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, held: dict[str, _Content]) -> None:
        self._connection = connection
        self._held = held
        self._known: dict[Source, bool] = {}

    def may_have_rows(self, spec: ViewSpec) -> bool:
        """Whether there are the rows of its inputs without which the view has none."""
        return all(any(map(self._has_rows, group)) for group in spec.empty_without)

    def stays_empty(self, spec: ViewSpec) -> bool:
        """Whether a view has no rows and, as one of its inputs has none, will not get any before that one does.

        Then it need not be computed for another input's sake: the one that is empty will tell of its rows itself.
        """
        if self._held[spec.name].row_count:
            return False
        return any(all(self._is_empty(source.name) for source in group) for group in spec.empty_without)

    def _is_empty(self, name: str) -> bool:
        """Whether a stored view is known to have no rows."""
        return name in self._held and self._held[name].row_count == 0

    def _has_rows(self, source: Source) -> bool:
        held = self._held.get(source.name)
        if held is not None and held.row_count is not None and (source.condition == "true" or not held.row_count):
            return bool(held.row_count)
        if source not in self._known:
            # a limit on a view that is not stored can make DuckDB 2.0.0 wait for ever, in a large transaction
            is_plain = held is not None and held.row_count is None
            kept = source if held is None or is_plain else replace(source, name=f"stored_{source.name}")
            rows = self._connection.execute(source.count_rows if is_plain else kept.any_row).fetchall()
            self._known[source] = bool(rows and rows[0][0])
        return self._known[source]


def _content(connection: duckdb.DuckDBPyConnection, row_count: int, rows: dict[int, int] | None) -> _Content:
    """What the table of new rows holds, whatever their order; `rows`: their hashes, where they are few."""
    if not row_count:
        return _NOTHING
    if rows is not None:
        return _Content(row_count, str(sum(rows.values())))
    return _content_of(connection, _FRESH)


def _content_of(connection: duckdb.DuckDBPyConnection, table: str) -> _Content:
    """What a table holds, whatever the order of its rows."""
    sql = f"select count(*), coalesce(sum(hash(r)), 0)::varchar from {table} as r"
    return _Content(*connection.execute(sql).fetchall()[0])


def _keep(
    connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec], contents: dict[str, _Content | None]
) -> None:
    """Notes what views hold, and which SQL made them."""
    rows = [(spec.name, _definition(spec), contents[spec.name]) for spec in specs]
    if not rows:
        return
    names, definitions, held = map(list, zip(*rows, strict=True))
    connection.execute("delete from view_state where list_contains(?, view)", [names])
    connection.execute(
        "insert into view_state select unnest(?::varchar[]), unnest(?::varchar[]), unnest(?::bigint[]),"
        " unnest(?::varchar[])",
        [names, definitions, [c and c.row_count for c in held], [c and c.content_hash for c in held]],
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

    text = "\n".join((duckdb.__version__, str(spec.is_stored), spec.comment, spec.select))
    return hashlib.sha256(text.encode()).hexdigest()
