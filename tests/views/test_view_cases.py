"""Every view of sql/ gives the rows expected of it for the rows given to its inputs, on whatever DuckDB is installed.

The cases of a view stand in view_cases/<view>.toml. Each `[[case]]` has a `name` (a sentence), `given.<input>` and
`expect` (lists of rows that name only the columns that matter; what is not given is null), and where needed `where` (a
condition on the view: other rows are not compared) or `known_wrong` (why it fails today). `default.<input>` at the top
of a file holds the columns that all given rows of that input share. An input that is not given is empty; a constant
view (1xx) that is not given is the real one.

Nanoseconds (`*_ns`) and timestamps are written as a time of day of 2026-09-14, `"10:20:03.5"`, also `"+1d 00:10:00"`
(the next day) or `"2026-09-13 23:59:59"`; a number in a `*_ns` column is seconds. A table in a text column becomes
JSON, and the text `"null"` is null. A view `finding_…` is asked through the view `finding`, which adds its score.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from aiscorr.analysis.spec import UNION_MARK, ViewSpec, build_views, parse_view, view_specs
from aiscorr.catalog.columns import all_columns

FOLDER = Path(__file__).parents[1] / "view_cases"
DAY = datetime.date(2026, 9, 14)
_MOMENT = re.compile(r"(?:(\d{4}-\d\d-\d\d) |([+-]\d+)d )?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_CASE_KEYS = {"name", "given", "expect", "where", "known_wrong"}
Row = dict[str, Any]
Types = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Case:
    """Rows given to the inputs of a view, and the rows expected of it."""

    view: str
    name: str
    given: dict[str, list[Row]]
    expect: list[Row]
    where: str
    known_wrong: str


@lru_cache(maxsize=1)
def specs() -> dict[str, ViewSpec]:
    """The views by name."""
    return {spec.name: spec for spec in view_specs()}


@cache
def select_of(view: str) -> str:
    """What a case of a view asks: its SQL; of a finding that of the view `finding` with no other in it."""
    select = specs()[view].select
    if not view.startswith("finding_"):
        return select
    return parse_view(Path(specs()["finding"].path)).select.replace(UNION_MARK, f"({select})")


def is_constant(spec: ViewSpec) -> bool:
    """The view reads nothing: it is a list of facts."""
    return spec.number < 200


@pytest.fixture(scope="module")
def types() -> Types:
    """The columns of every table and view with their types, told by building all views over empty tables."""
    return all_columns()


def types_of(view: str, types: Types) -> dict[str, str]:
    """The columns of what a case of a view asks."""
    return types["finding" if view.startswith("finding_") else view]


@pytest.fixture(scope="module")
def bench(types: Types) -> duckdb.DuckDBPyConnection:
    """A database of empty inputs, and of the constant views; what a case adds is rolled back."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    build_views(connection, [spec for spec in view_specs() if is_constant(spec)])
    for name in types:
        if name not in specs() or not is_constant(specs()[name]):
            create(connection, name, types[name])
    connection.execute("pragma disable_optimizer")  # a plan is kept, and must not rest on the rows of its first case
    return connection


def cases_of(path: Path) -> Iterator[Case]:
    """The cases of one file."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from None
    shared = content.get("default", {})
    for entry in content.get("case", []):
        if unknown := set(entry) - _CASE_KEYS:
            raise ValueError(f"{path.name}: {entry.get('name')}: what is {sorted(unknown)}?")
        given = {name: [{**shared.get(name, {}), **row} for row in rows] for name, rows in entry["given"].items()}
        yield Case(
            path.stem, entry["name"], given, entry["expect"], entry.get("where", "true"), entry.get("known_wrong", "")
        )


def parameters() -> list[Any]:
    """Every case as a parameter of the test; one that is known to be wrong must fail."""
    return [
        pytest.param(
            case,
            id=f"{case.view}: {case.name}",
            marks=[pytest.mark.xfail(reason=case.known_wrong, strict=True)] if case.known_wrong else [],
        )
        for path in sorted(FOLDER.glob("*.toml"))
        for case in cases_of(path)
    ]


def moment_ns(text: str) -> int:
    """Nanoseconds since 1970 of a time as the cases write it."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    date, days, hour, minute, second, fraction = match.groups()
    day = datetime.date.fromisoformat(date) if date else DAY + datetime.timedelta(days=int(days or 0))
    seconds = (day - datetime.date(1970, 1, 1)).days * 86400 + int(hour) * 3600 + int(minute) * 60 + int(second)
    return seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0"))


def stored(value: Any, column: str, kind: str) -> Any:
    """A value of a case as the database holds it."""
    if value == "null":
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "TIMESTAMP_NS" or (column.endswith("_ns") and isinstance(value, str)):
        return moment_ns(value)
    if column.endswith("_ns") and is_number:
        return round(value * 1_000_000_000)
    if kind == "VARCHAR" and isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, list):
        return [stored(item, "", "") for item in value]
    if isinstance(value, dict):
        return {key: stored(item, key, "") for key, item in value.items()}
    return value


def comparable(value: Any) -> Any:
    """A value with numbers rounded, so that 1 and 1.0000000001 are the same."""
    if isinstance(value, float | Decimal):
        return round(float(value), 6)
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if item is not None}
    return value


def shown(row: tuple[Any, ...], columns: list[str]) -> str:
    """A row for a person: name = value, nanoseconds as date and time where they are one."""
    parts = []
    for column, value in zip(columns, row, strict=True):
        if isinstance(value, int) and column.endswith(("_ns", "_at")) and abs(value) > 10**17:
            seconds, rest = divmod(value, 1_000_000_000)
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
            parts.append(f"{column}={moment:%m-%d %H:%M:%S}.{rest:09d}")
        else:
            parts.append(f"{column}={value!r}")
    return ", ".join(parts)


def create(connection: duckdb.DuckDBPyConnection, name: str, types: dict[str, str]) -> None:
    """Creates an input as a plain table without rows."""
    columns = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
    connection.execute(f"create table {name} ({columns})")


def fill(connection: duckdb.DuckDBPyConnection, name: str, types: dict[str, str], rows: list[Row]) -> None:
    """Puts the rows of a case into an input; a constant view that is given becomes a table of these rows."""
    if name in specs() and is_constant(specs()[name]):
        connection.execute(f"drop view {name}")
        create(connection, name, types)
    for row in rows:
        unknown = sorted(set(row) - set(types))
        assert not unknown, f"{name} has no column {unknown}; it has {sorted(types)}"
        if not row:
            connection.execute(f"insert into {name} values ({', '.join('null' for _ in types)})")
            continue
        places = ", ".join("make_timestamp_ns(?)" if types[c] == "TIMESTAMP_NS" else f"?::{types[c]}" for c in row)
        values = [stored(value, column, types[column]) for column, value in row.items()]
        names = ", ".join(f'"{column}"' for column in row)
        connection.execute(f"insert into {name} ({names}) values ({places})", values)


def fill_inputs(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, case: Case, types: Types) -> None:
    """Fills the inputs of a view that the case gives; the others stay empty, a constant view the real one."""
    stray = sorted(set(case.given) - set(spec.reads))
    assert not stray, f"{case.view} does not read {stray}"
    for name, rows in case.given.items():
        fill(connection, name, types[name], rows)


@cache
def prepared(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """A name for a statement that is parsed and bound once; most of what a view costs on few rows is that."""
    name = f"statement_{abs(hash(sql))}"
    connection.execute(f"prepare {name} as {sql}")
    return name


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a select."""
    return connection.execute(f"execute {prepared(connection, sql)}").fetchall()


def rows_of(
    connection: duckdb.DuckDBPyConnection, case: Case, types: dict[str, str], columns: list[str]
) -> list[tuple[Any, ...]]:
    """What the view gives: the columns that the case names, of the rows it compares."""
    listed = ", ".join(f'epoch_ns("{c}")' if types[c] == "TIMESTAMP_NS" else f'"{c}"' for c in columns)
    found = answer(connection, f"select {listed} from ({select_of(case.view)}) as {case.view} where {case.where}")
    return [tuple(comparable(value) for value in row) for row in found]


def expected_of(case: Case, types: dict[str, str], columns: list[str]) -> list[tuple[Any, ...]]:
    """The rows the case expects, in the form of rows_of; each names the same columns."""
    unknown = sorted(set(columns) - set(types))
    assert not unknown, f"{case.view} has no column {unknown}; it has {sorted(types)}"
    assert all(set(row) == set(columns) for row in case.expect), "the expected rows name different columns"
    return [tuple(comparable(stored(row[c], c, types[c])) for c in columns) for row in case.expect]


def difference(got: list[tuple[Any, ...]], expected: list[tuple[Any, ...]], columns: list[str]) -> list[str]:
    """The rows that are missing (-) and those that should not be (+), each as a line."""
    have = Counter(shown(row, columns) for row in got)
    want = Counter(shown(row, columns) for row in expected)
    missing = [f"- {row}" for row in (want - have).elements()]
    more = [f"+ {row}" for row in (have - want).elements()]
    return [*missing, *more]


@pytest.mark.parametrize("case", parameters())
def test_view(case: Case, bench: duckdb.DuckDBPyConnection, types: Types) -> None:
    """A view gives exactly the expected rows for the given ones, in any order."""
    spec = specs()[case.view]
    own = types_of(case.view, types)
    columns = list(case.expect[0] if case.expect else own)
    bench.execute("begin transaction")
    try:
        fill_inputs(bench, spec, case, types)
        expected = expected_of(case, own, columns)
        wrong = difference(rows_of(bench, case, own, columns), expected, columns)
    finally:
        bench.execute("rollback")
    if wrong:
        pytest.fail(f"{case.view}: {case.name}\n" + "\n".join(wrong), pytrace=False)


def test_every_view_has_cases() -> None:
    """Each view that is no list of constants has a file with at least one case that expects a row."""
    told = {case.view for path in FOLDER.glob("*.toml") for case in cases_of(path) if case.expect}
    assert [spec.name for spec in view_specs() if not is_constant(spec) and spec.name not in told] == []


def test_every_case_has_a_view() -> None:
    """No file of cases is left over from a view that is gone."""
    assert sorted({path.stem for path in FOLDER.glob("*.toml")} - set(specs())) == []


def test_cases_are_told_apart() -> None:
    """No two cases of a view have the same name."""
    names = Counter((case.view, case.name) for path in FOLDER.glob("*.toml") for case in cases_of(path))
    assert [name for name, count in names.items() if count > 1] == []
