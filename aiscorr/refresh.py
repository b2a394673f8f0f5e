"""Brings the views of a database up to date: computes anew what stands on other rows or other SQL than last time.

A stored view is computed where one of its inputs changed. Where it then holds what it held before, what stands on it
is left alone. `changed_table` names the tables whose rows changed; `view_state` says what each view held and which SQL
made it. Views of other SQL, or of another DuckDB, are all made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiscorr.errors import DatabaseError
from aiscorr.store.database import reading
from aiscorr.tables import VIEW_STATE
from aiscorr.views import ViewSpec, build_view, view_specs

if TYPE_CHECKING:
    import duckdb


_OTHER_VIEWS = "the views of this database were made by another version of aiscorr or DuckDB"
_OTHER_VIEWS_HELP = "aiscorr ingest, on the same logs or an empty folder, makes them anew and reads nothing twice"


@dataclass(frozen=True)
class _Content:
    """How many rows a stored view held, and the sum of their hashes."""

    row_count: int
    content_hash: str


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


def refresh_views(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec] | None = None) -> None:
    """Computes the views whose inputs or SQL changed since they were computed; the caller's transaction holds it."""
    specs = view_specs() if specs is None else specs
    if _definitions(connection) == _wanted(specs):
        _compute_changed(connection, specs)
    else:
        _compute_all(connection, specs)
    connection.execute("delete from changed_table")


def _compute_all(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec]) -> None:
    """Makes every view, and removes those that are no more."""
    for (name,) in connection.execute("select view from view_state").fetchall():
        connection.execute(f"drop view if exists {name}")
        connection.execute(f"drop table if exists stored_{name}")
    connection.execute("delete from view_state")
    for spec in specs:
        build_view(connection, spec)
        _keep(connection, spec, _content(connection, spec) if spec.is_stored else None)


def _compute_changed(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec]) -> None:
    """Computes the stored views that stand on something that changed; a plain view changes with what it reads."""
    changed = _changed_tables(connection)
    held = {
        row[0]: _Content(row[1], row[2])
        for row in connection.execute("select view, row_count, content_hash from view_state").fetchall()
    }
    relations = {spec.name: spec.relation for spec in specs}
    for spec in specs:
        if changed.isdisjoint(spec.reads):
            continue
        if not spec.is_stored:
            changed.add(spec.name)
        elif held[spec.name].row_count or not _is_empty(connection, spec, relations):
            build_view(connection, spec)
            content = _content(connection, spec)
            if content != held[spec.name]:
                _keep(connection, spec, content)
                changed.add(spec.name)


def _is_empty(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, relations: dict[str, str]) -> bool:
    """Whether the inputs without whose rows the view has none have none."""
    return bool(spec.empty_without) and not any(
        connection.execute(f"select 1 from {relations.get(name, name)} limit 1").fetchall()
        for name in spec.empty_without
    )


def _content(connection: duckdb.DuckDBPyConnection, spec: ViewSpec) -> _Content:
    """What a stored view holds, whatever the order of its rows."""
    sql = f"select count(*), coalesce(sum(hash(r)), 0)::varchar from {spec.stored_name} as r"
    return _Content(*connection.execute(sql).fetchall()[0])


def _keep(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, content: _Content | None) -> None:
    connection.execute("delete from view_state where view = ?", [spec.name])
    held = (content.row_count, content.content_hash) if content else (None, None)
    connection.execute("insert into view_state values (?, ?, ?, ?)", [spec.name, _definition(spec), *held])


def _changed_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("select distinct table_name from changed_table").fetchall()}


def _definitions(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The SQL each view was made from, by its hash; none in a database older than the table."""
    tables = connection.execute("select 1 from duckdb_tables() where table_name = ?", [VIEW_STATE.name]).fetchall()
    return dict(connection.execute("select view, definition from view_state").fetchall()) if tables else {}


def _wanted(specs: Sequence[ViewSpec]) -> dict[str, str]:
    return {spec.name: _definition(spec) for spec in specs}


def _definition(spec: ViewSpec) -> str:
    import duckdb

    text = "\n".join((duckdb.__version__, str(spec.is_stored), spec.comment, spec.select))
    return hashlib.sha256(text.encode()).hexdigest()
