"""The files in sql/: names, numbers, headers, what each view reads, and the SQL both engines take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from scenes import REPO

from aiscorr.analysis.spec import FACTS_NUMBER, ViewSpec, view_specs
from aiscorr.schema.tables import TABLES
from aiscorr.store.database import in_memory

MAX_LINES, MAX_COLUMNS = 220, 100
MAX_VIEWS, MAX_CHAIN = 200, 30
HUNDREDS = {1: "constants", 2: "clean", 3: "measures", 4: "corr", 5: "finding", 6: "report", 7: "case"}
TABLE_NAMES = {table.name for table in TABLES}


def sql_paths() -> list[Path]:
    """The files."""
    return sorted((REPO / "sql").glob("*.sql"))


@lru_cache(maxsize=1)
def trees() -> dict[str, dict[str, Any]]:
    """The parsed select of each view."""
    connection = in_memory()
    found = {}
    for spec in view_specs():
        (text,) = connection.execute("select json_serialize_sql(?)", [spec.select]).fetchall()[0]
        found[spec.name] = json.loads(text)
    connection.close()
    return found


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of a parsed statement."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for item in tree:
            yield from nodes(item)


def really_read(spec: ViewSpec) -> set[str]:
    """The tables and views that a view's SQL names, its own steps left out."""
    found = list(nodes(trees()[spec.name]))
    steps = {entry["key"] for node in found if "cte_map" in node for entry in node["cte_map"]["map"]}
    return {node["table_name"] for node in found if node.get("type") == "BASE_TABLE"} - steps


def last_selects(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The selects whose columns are the view's: one, or the sides of a union."""
    if node["type"] == "SET_OPERATION_NODE":
        for side in node.get("children") or [node["left"], node["right"]]:
            yield from last_selects(side)
    else:
        yield node


def test_parse() -> None:
    """Every view's SQL is one statement that the parser takes."""
    assert {name: tree["error_message"] for name, tree in trees().items() if tree["error"]} == {}
    assert {name for name, tree in trees().items() if len(tree["statements"]) != 1} == set()


def test_names_and_numbers() -> None:
    """A view's file is called NNN_name.sql, no number and no name is used twice, and the hundreds have a meaning."""
    specs = [spec for spec in view_specs() if spec.number != FACTS_NUMBER]
    assert len(specs) == len(sql_paths())
    assert len({spec.number for spec in specs}) == len(specs)
    assert len({spec.name for spec in view_specs()}) == len(view_specs())
    assert {spec.number // 100 for spec in specs} <= set(HUNDREDS)
    assert [spec.name for spec in specs if spec.name.startswith("finding_") != (spec.number // 100 == 5)] == []


def test_files_are_small() -> None:
    """No file in sql/ has more than 220 lines, and none of them has more than 100 columns."""
    lines = {path.name: path.read_text("utf-8").splitlines() for path in sql_paths()}
    assert {name: len(some) for name, some in lines.items() if len(some) > MAX_LINES} == {}
    assert [name for name, some in lines.items() if max(map(len, some)) > MAX_COLUMNS] == []


@pytest.mark.parametrize("spec", view_specs(), ids=lambda spec: f"{spec.number}_{spec.name}")
def test_header_names_what_is_read(spec: ViewSpec) -> None:
    """What `-- reads:` lists is what the view reads, nothing more and nothing less."""
    assert set(spec.reads) == really_read(spec)


def test_reads_go_down() -> None:
    """A view reads tables and lower-numbered views only."""
    numbers = {spec.name: spec.number for spec in view_specs()}
    wrong = [
        f"{spec.number}_{spec.name} reads {name}"
        for spec in view_specs()
        for name in really_read(spec)
        if name not in TABLE_NAMES and numbers.get(name, 1000) >= spec.number
    ]
    assert wrong == []


def test_the_way_through_is_short() -> None:
    """There are at most 200 views beside those of facts, and at most 30 of all stand one on another."""
    depth: dict[str, int] = {}
    for spec in sorted(view_specs(), key=lambda spec: spec.number):
        depth[spec.name] = 1 + max((depth[name] for name in spec.reads if name in depth), default=0)
    assert len(sql_paths()) <= MAX_VIEWS
    assert max(depth.values()) <= MAX_CHAIN


def test_columns_are_listed() -> None:
    """No view ends in `select *`; each lists its columns."""
    wrong = [
        name
        for name, tree in trees().items()
        for select in last_selects(tree["statements"][0]["node"])
        if any(item.get("class") == "STAR" for item in select["select_list"])
    ]
    assert wrong == []


def test_sentences() -> None:
    """A view's first line is one sentence, and its grain says what a row is."""
    assert [s.name for s in view_specs() if not re.fullmatch(r"[A-Z].*\.", s.sentence)] == []
    assert [s.name for s in view_specs() if not re.match(r"(?:one row|at most one row)\b", s.grain)] == []


def test_layout() -> None:
    """Files are in small letters outside of quotes and comments, without tabs and without blanks at line ends."""
    wrong = []
    for path in sql_paths():
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            code = re.sub(r"'[^']*'|\"[^\"]*\"|--.*", "", line)
            if (
                "\t" in line
                or line != line.rstrip()
                or re.search(r"\b(?:SELECT|FROM|WHERE|JOIN|CASE|AND|OR|AS)\b", code)
            ):
                wrong.append(f"{path.name}:{number}")
    assert wrong == []


def test_one_statement_a_file() -> None:
    """A file creates one view, of its own name, and holds nothing else."""
    for path in sql_paths():
        text = path.read_text("utf-8")
        assert re.findall(r"^create or replace view (\w+) as$", text, re.MULTILINE) == [path.stem[4:]], path.name
        assert ";" not in re.sub(r"'[^']*'|--.*", "", text).strip().rstrip(";"), path.name


def test_stored_columns_have_telling_names() -> None:
    """No stored table has a column called at, end, offset, limit, window or left."""
    names = [f"{table.name}.{column.name}" for table in TABLES for column in table.columns]
    assert [n for n in names if n.rpartition(".")[2] in {"at", "end", "offset", "limit", "window", "left"}] == []
