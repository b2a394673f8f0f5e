"""Does something for each view as soon as it was done for all that the view reads, several at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING

from aiscorr.analysis.spec import ViewSpec

if TYPE_CHECKING:
    import duckdb

#: Where no input has more rows, DuckDB's optimizer takes longer than it saves.
_FEW_ROWS = 20_000
#: The stages of DuckDB's optimizer without which a view of many rows takes too long; the others only save some time.
_NEEDED_STAGES = (
    *("expression_rewriter", "filter_pullup", "filter_pushdown", "in_clause", "join_order", "deliminator"),
    *("unnest_rewriter", "unused_columns", "column_lifetime", "limit_pushdown", "top_n", "build_side_probe_side"),
)
Step = Callable[["duckdb.DuckDBPyConnection", ViewSpec], None]


def in_order(connection: duckdb.DuckDBPyConnection, specs: Sequence[ViewSpec], step: Step, threads: int) -> None:
    """Calls `step` for each view, in order on the connection, or with so many cursors of it, outside a transaction."""
    if threads < 2:
        for spec in specs:
            step(connection, spec)
        return
    own = {spec.name for spec in specs}
    cursors: SimpleQueue[duckdb.DuckDBPyConnection] = SimpleQueue()

    def done(spec: ViewSpec) -> str:
        cursor = cursors.get()
        try:
            step(cursor, spec)
        finally:
            cursors.put(cursor)
        return spec.name

    urgency = _urgency(specs)
    with contextlib.ExitStack() as held, ThreadPoolExecutor(threads) as pool:
        (name,) = connection.execute("select current_database()").fetchall()[0]
        for _ in range(threads):
            cursor = held.enter_context(contextlib.closing(connection.cursor()))
            cursor.execute(f'use "{name}"')
            cursors.put(cursor)
        waiting = {spec: own.intersection(spec.reads) for spec in specs}
        running: set[Future[str]] = set()
        while waiting or running:
            ready = sorted((spec for spec, left in waiting.items() if not left), key=lambda spec: -urgency[spec.name])
            for spec in ready[: threads + 1 - len(running)]:  # one waits, so that no thread does
                del waiting[spec]
                running.add(pool.submit(done, spec))
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                name = future.result()
                for left in waiting.values():
                    left.discard(name)


def _urgency(specs: Sequence[ViewSpec]) -> dict[str, int]:
    """For each view how much SQL stands, at most, between its begin and the end of all."""
    found: dict[str, int] = dict.fromkeys((spec.name for spec in specs), 0)
    for spec in reversed(specs):
        found[spec.name] += len(spec.select)
        for name in spec.reads:
            if name in found:
                found[name] = max(found[name], found[spec.name])
    return found


def plan_for(connection: duckdb.DuckDBPyConnection, largest: int, is_again: bool) -> None:
    """How inputs of at most so many rows are planned as long as the connection lives: few plainly, many not.

    `is_again`: after DuckDB failed inside, the other way. Plainly: without the stages that are not needed.
    """
    if (largest <= _FEW_ROWS) == is_again:
        return
    stages = {name for (name,) in connection.execute("select name from duckdb_optimizers()").fetchall()}
    connection.execute(f"set disabled_optimizers = '{','.join(sorted(stages.difference(_NEEDED_STAGES)))}'")
