"""DuckDB failing inside while views are computed: it refuses one view's plan, or gives up the whole instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from duckdb_release import IS_1_5

from aiscorr.analysis import refresh
from aiscorr.analysis.spec import ViewSpec, compute
from aiscorr.errors import PlanError

_FAILURES = ("debug_force_commit_failure", "debug_force_commit_revert_failure")
Failing = Callable[[duckdb.DuckDBPyConnection], Any]


class _GivenUp:
    """What a connection is to an instance that DuckDB has invalidated: whatever it is asked, it fails."""

    def __getattr__(self, name: str) -> Any:
        """Refuses everything."""
        raise duckdb.FatalException(
            "FATAL Error: Failed: database has been invalidated because of a previous fatal error"
        )


def give_up(connection: duckdb.DuckDBPyConnection) -> Any:
    """Makes DuckDB invalidate the instance below an open transaction; gives the connection, which cannot roll back.

    DuckDB 1.5 has no setting for it: there the connection is closed, and what is given fails as an invalid one does.
    """
    if IS_1_5:
        connection.close()
        return _GivenUp()
    with connection.cursor() as other:
        for name in _FAILURES:
            other.execute(f"set {name} = true")
        other.execute("begin")
        other.execute("create table never_there as select 1 as one")
        with pytest.raises(duckdb.TransactionException, match="Forced commit failure"):
            other.execute("commit")
    with pytest.raises(duckdb.FatalException, match="invalidated"):
        connection.execute("rollback")
    return connection


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
            connection = left.pop()(connection)
        return compute(connection, spec, table)

    patch.setattr(refresh, "compute", computed)
    return disabled
