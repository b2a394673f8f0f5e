"""A view of which a needed table has no row has none itself, and is made without its SQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from packing import written
from scenes import Library, read_in, some_names
from test_refresh import assert_as_if_made_anew

from aiscorr.analysis import refresh
from aiscorr.analysis.needs import needs, needs_of_views
from aiscorr.analysis.spec import ViewSpec, compute, view_specs
from aiscorr.cache import cache_folder
from aiscorr.schema.tables import TABLES
from aiscorr.store.database import in_memory


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ("select a from t", [{"t"}]),
        ("select a from t join u using (a) left join v using (a)", [{"t", "u"}]),
        ("select a from t right join u using (a)", [{"u"}]),
        ("select a from t full join u using (a)", None),
        ("select a from t cross join (select 1 as b from u)", [{"t", "u"}]),
        ("select a from t semi join u using (a) anti join v using (a)", [{"t", "u"}]),
        ("select a from t asof join u on t.a >= u.a", [{"t", "u"}]),
        ("select a from t union all select a from u union all select a from v", [{"t"}, {"u"}, {"v"}]),
        ("select a from t union all select a from t join u using (a)", [{"t"}]),
        ("select a from t union by name select a from u", [{"t"}, {"u"}]),
        ("select a from t except select a from u", [{"t"}]),
        ("with s as (select a from t join u using (a)) select a from s join v using (a)", [{"t", "u", "v"}]),
        ("select count(*) as n from t", None),
        ("select a, count(*) as n from t group by a", [{"t"}]),
        ("select a from t group by rollup (a)", None),
        ("select 1 from t having count(*) = 0", None),
        ("select count(*) over () as n from t", [{"t"}]),
        ("select (select count(*) from u) as n from t", [{"t"}]),
        ("select a from t where exists (from u) and a in (select a from v) and not exists (from w)", [{"t", "u", "v"}]),
        ("select a from t where a = 1 or exists (from u)", [{"t"}]),
        ("select a from (values (1)) as x(a)", None),
        ("select a, unnest(b) as c from t", [{"t"}]),
        ("with recursive r as (select 1 as a union all select a from t) select a from r", None),
    ],
)
def test_what_a_select_needs(select: str, wanted: list[set[str]] | None) -> None:
    """Joined tables all, one side of a union; nothing where an aggregate gives a row of no rows."""
    with in_memory() as connection:
        found = needs(connection, select)
    assert found == (None if wanted is None else frozenset(map(frozenset, wanted)))


def test_no_view_has_rows_without_what_it_needs(library: Library, tmp_path: Path) -> None:
    """Over the rows of some incidents: with any table emptied that a view needs, the view has no row."""
    copy = tmp_path / "copy.duckdb"
    shutil.copy(library.together("some", some_names()), copy)
    every = needs_of_views()
    asked, wrong = 0, []
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"attach '{copy}' as held (read_only)")
        for table in TABLES:
            connection.execute(f"create table {table.name} as from held.{table.name}")
        for spec in view_specs():  # as tables, all of them: a view over views would be planned again at each question
            compute(connection, spec, spec.name)
        for spec in view_specs():
            some = every[spec.name]
            for name in sorted(set().union(*some)) if some and len(some) == 1 else ():
                asked += 1
                connection.execute("begin")
                connection.execute(f"delete from {name}")
                if connection.execute(f"select 1 from ({spec.select}) limit 1").fetchall():
                    wrong.append(f"{spec.name} without {name}")
                connection.execute("rollback")
    assert not wrong
    assert asked > 200


def test_views_without_rows_are_made_without_their_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once their columns are known, views of dumps, stacks and AIStore are not computed where there are none."""
    log = written(tmp_path / "rank0.log")
    for number in (1, 2):  # the first may have to learn what columns there are
        read_in(tmp_path / f"{number}.duckdb", log)
    computed: list[str] = []
    compute = refresh.compute

    def noted(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> int:
        computed.append(spec.name)
        return compute(connection, spec, table)

    monkeypatch.setattr(refresh, "compute", noted)
    read_in(tmp_path / "3.duckdb", log)
    assert "worker_event" in computed
    assert {"ais_event", "node_fault", "get_batch_chain", "stack_stand"}.isdisjoint(computed)
    monkeypatch.undo()
    assert_as_if_made_anew(tmp_path / "3.duckdb")


def test_nothing_is_left_out_before_columns_are_known(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that never saw the views all are computed, with the same rows."""
    library.database("worker_logs_only")  # all else that is kept is known
    seen = shutil.copytree(cache_folder(), tmp_path / "cache" / "aiscorr")
    for path in (*seen.glob("columns-*"), *seen.glob("needs-*")):
        path.unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read_in(tmp_path / "x.duckdb", library.folder("worker_logs_only") / "workers")
    monkeypatch.undo()
    assert_as_if_made_anew(tmp_path / "x.duckdb")
