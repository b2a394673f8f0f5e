"""Judges one case: the rows that concern it go in, what is concluded comes out.

Nothing else is read but the SQL, nothing written but the cache, so the answer is the same whoever asks: a process of an
ingest, a worker of a cluster.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from aiscorr.analysis.needs import Presence, definition
from aiscorr.analysis.order import in_order, plan_for
from aiscorr.analysis.spec import ViewSpec, compute, view_specs
from aiscorr.errors import PlanError
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT, in_memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

#: Inputs of more rows are worth DuckDB's own threads.
_MANY_ROWS = 100_000


@dataclass(frozen=True)
class Result:
    """Rows of a view, and its columns with DuckDB's types, as a table is made of them."""

    columns: str
    rows: pa.Table


@lru_cache(maxsize=1)
def case_views() -> tuple[ViewSpec, ...]:
    """The views that are computed for a case, in order."""
    return tuple(spec for spec in view_specs() if spec.is_case)


@lru_cache(maxsize=1)
def case_inputs() -> tuple[str, ...]:
    """The tables and views of the database that these read: what a case is made of."""
    own = {spec.name for spec in case_views()}
    return tuple(sorted({name for spec in case_views() for name in spec.reads} - own))


def judge(
    inputs: Mapping[str, pa.Table], *, threads: int = 1, memory_limit: str = DEFAULT_MEMORY_LIMIT
) -> dict[str, Result]:
    """The rows of each kept view for a case.

    `inputs`: for each of `case_inputs` the rows that concern the case. Raises PlanError where DuckDB fails inside
    twice: stages of its optimizer that rewrite a query break on some rows and not on others, so the second try plans
    the other way, plainly or not.
    """
    try:
        return _judged(inputs, threads, memory_limit)
    except PlanError:
        return _judged(inputs, 1, memory_limit, is_again=True)


def _judged(
    inputs: Mapping[str, pa.Table], threads: int, memory_limit: str, *, is_again: bool = False
) -> dict[str, Result]:
    with opened(inputs, threads, memory_limit, is_again=is_again) as connection:
        return {spec.name: _result(connection, spec.name) for spec in case_views() if spec.is_kept}


@contextlib.contextmanager
def opened(
    inputs: Mapping[str, pa.Table],
    threads: int = 1,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
    *,
    is_again: bool = False,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with a case's rows and every view that is computed from them, as tables."""
    largest = max((rows.num_rows for rows in inputs.values()), default=0)
    with contextlib.closing(in_memory(memory_limit, threads if largest > _MANY_ROWS else 1)) as connection:
        plan_for(connection, largest, is_again)
        presence = Presence(name for name, rows in inputs.items() if rows.num_rows)
        for name, rows in inputs.items():
            connection.register("given", rows)
            connection.execute(f"create table {name} as from given")
            connection.unregister("given")
        in_order(connection, case_views(), partial(_computed, presence), threads)
        presence.keep(connection, {spec.name: spec.name for spec in case_views()})
        yield connection


def _computed(presence: Presence, connection: duckdb.DuckDBPyConnection, spec: ViewSpec) -> None:
    columns = presence.columns(spec)
    if columns is not None:
        connection.execute(f"create table {spec.name} ({columns})")
        return
    presence.note(spec, compute(connection, spec, spec.name))


def _result(connection: duckdb.DuckDBPyConnection, name: str) -> Result:
    rows = connection.sql(f"from {name}")
    return Result(definition(rows), rows.to_arrow_table())
