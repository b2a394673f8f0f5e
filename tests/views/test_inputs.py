"""Which columns and rows of which tables SQL uses is told from the SQL alone."""

from __future__ import annotations

import duckdb
import pytest

from aiscorr.views.inputs import mentions


@pytest.mark.parametrize(
    ("select", "names", "whole"),
    [
        ("select a, count(*) as n from t as x where x.b > 1 group by all", {"a", "b"}, set()),
        ("select * from t", set(), {"t"}),
        ("select x.* exclude (b) from t as x join u on true", set(), {"t"}),
        ("with x as (select a from t) select * from x", {"a"}, set()),
        ("with x as (select a from t), y as (select * from x) select distinct x.* from y as x", {"a"}, set()),
        ("with x as (select a, b from t) select a from (select * from x union all select * from x)", {"a", "b"}, set()),
        ("with x as (select * from t) select a from (select * from x union all select * from x)", set(), {"t", "x"}),
        ("with x as (select * from t), y as (select * from x) select * from y", set(), {"t", "x", "y"}),
        ("with t as (select * from t) select * from t", set(), {"t"}),
        ("with t as (select a from t) select * from t", set(), {"t"}),
        ("with x as (select * from t) select a, b as c from x", {"a", "b"}, set()),
        ("with x as (select distinct * from t) select a from x", {"a"}, {"t"}),
        ("with x as (select * from t union all by name select * from u) select a from x", {"a"}, set()),
        ("with x as (select * from t union all select * from u) select a from x", {"a"}, {"t", "u"}),
        ("with x as (select * from t) select hash(x) from x", set(), {"t", "x"}),
        ("select a from u where b in (from t)", {"a", "b"}, {"t"}),
        ("select a from (select * from t) join u using (k)", {"a", "k"}, set()),
        ("select a from t natural join u", set(), {"t", "u"}),
        ("select hash(x) from t as x", set(), {"t"}),
        ("select t from t", set(), {"t"}),
        ("select T from t", set(), {"t"}),
        ("select u.t, t.a from t join u on true", {"t", "a"}, set()),
        ("select x.a from t as x where t", {"a", "t"}, set()),
        ("select c from t as x(c)", set(), {"t"}),
        ("select (select max(b) from u where u.k = t.k) as b from t order by 1", {"b", "k"}, set()),
        ("select x.a, y.b from t as x join u as y on y.k = x.k and c", {"a", "b", "k", "c"}, set()),
        ("from t", set(), {"t"}),
        ("select columns('^a') from t", set(), {"t"}),
        ("select a from t where exists (from u)", {"a"}, set()),
        ("select rowid as row_no, a from t", set(), {"t"}),
        ("select x.rowid as row_no, u.a from t as x join u on u.b", {"a", "b"}, {"t"}),
        ("select a from t join u using (rowid)", set(), {"t", "u"}),
    ],
)
def test_what_sql_mentions(select: str, names: set[str], whole: set[str]) -> None:
    """Columns are told by name wherever they stand; a star, an unnamed join or a row as a value takes a table whole."""
    with duckdb.connect(":memory:") as connection:
        found = mentions(connection, select)
    assert {table for table, use in found.items() if use.names is None} == whole
    assert set().union(*(use.names for use in found.values() if use.names is not None)) == names


@pytest.mark.parametrize(
    ("select", "used"),
    [
        ("select a from t where k = 'x' and b", {"t": "((k = 'x') AND b)"}),
        ("select a from t where k = 1 union select a from t where k = 2", {"t": "(k = 1) or (k = 2)"}),
        ("select a from t where k = 1 union select a from t", {}),
        ("select x.a from t as x join u as y on y.k = x.k and y.b where x.c", {"t": "c", "u": "b"}),
        ("select x.a from t as x left join u as y on y.b and x.c where y.d", {"u": "b"}),
        ("select x.a from t as x anti join u as y on y.b and x.c where x.d", {"t": "d", "u": "b"}),
        ("select x.a from t as x full join u as y on y.b and x.c where y.d", {}),
        ("select x.a from t as x asof join u as y on y.k <= x.k where x.c and y.d", {"t": "c"}),
        ("select a from t join u on c where b", {}),
        ("select a from t where b > (select max(b) from u where k = 1)", {"u": "(k = 1)"}),
        ("select a from t where b::integer = 1", {}),
        ("select a from t group by a having max(b) = 1 qualify row_number() over () = 1", {}),
    ],
)
def test_which_rows_matter(select: str, used: dict[str, str]) -> None:
    """Rows are told by what `where` and `on` ask of their own columns, where no join keeps a row whatever it holds."""
    columns = ["a", "b", "c", "d", "k"]
    with duckdb.connect(":memory:") as connection:
        found = {table: use.condition(columns) for table, use in mentions(connection, select).items()}
        nothing = {table: use.condition(["a"]) for table, use in mentions(connection, select).items()}
    assert {table: text for table, text in found.items() if text != "true"} == used
    assert set(nothing.values()) == {"true"}, "a name that is no column of the table is one of another"
