"""DuckDB failing inside while views are computed: it refuses one view's plan, or gives up the whole instance."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from aiscorr.analysis import refresh
from aiscorr.analysis.spec import ViewSpec, compute
from aiscorr.errors import PlanError

_FAILURES = ("debug_force_commit_failure", "debug_force_commit_revert_failure")
Failing = Callable[[duckdb.DuckDBPyConnection], object]


def give_up(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes DuckDB invalidate the instance below an open transaction; then a connection cannot even roll back."""
    with connection.cursor() as other:
        for name in _FAILURES:
            other.execute(f"set {name} = true")
        other.execute("begin")
        other.execute("create table never_there as select 1 as one")
        with pytest.raises(duckdb.TransactionException, match="Forced commit failure"):
            other.execute("commit")
    with pytest.raises(duckdb.FatalException, match="invalidated"):
        connection.execute("rollback")


def refuse_plan(connection: duckdb.DuckDBPyConnection) -> None:
    """Fails as a view does whose plan DuckDB cannot make, which leaves the connection as it is."""
    raise PlanError("view cannot be built: INTERNAL Error")


def fail_at(view: str, times: int, fail: Failing, patch: pytest.MonkeyPatch) -> list[str]:
    """From now on DuckDB fails so many times at this view; gives the optimizer's disabled stages, once a view."""
    disabled: list[str] = []
    left = [fail] * times

    def computed(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> int:
        disabled.append(connection.execute("select current_setting('disabled_optimizers')").fetchall()[0][0])
        if spec.name == view and left:
            left.pop()(connection)
        return compute(connection, spec, table)

    patch.setattr(refresh, "compute", computed)
    return disabled
