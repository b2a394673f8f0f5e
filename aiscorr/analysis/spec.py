"""Reads sql/*.sql and checks their headers; makes views, and tables of their rows.

A file holds one view. Its first lines say what a row is; `-- grain:`, `-- reads:`, `-- note:` follow. A header says
where its rows are: `-- stored: yes` in a table that ingest computes (refresh.py); `-- case: yes` nowhere but in the
judging of a case (judge.py), `-- case: kept` in a table with those of all cases (cases.py). A view with neither is a
view of the database. None of them is ever stale, because only ingest changes what they read.

facts/*.csv hold what is known beforehand: words, weights, thresholds. Lines that begin with `# ` are the same headers;
the first line after them names each column with its type, where it is no text. An empty cell is null.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiscorr import cache
from aiscorr.errors import TRY_AFTER_FAULT, PlanError, SpecError
from aiscorr.schema.tables import TABLES

if TYPE_CHECKING:
    import duckdb

_FILE_NAME = re.compile(r"^(\d{3})_([a-z][a-z0-9_]*)\.sql$")
_CREATE = re.compile(r"^create or replace view ([a-z][a-z0-9_]*) as\s*$", re.MULTILINE)
_HEADER = re.compile(r"^-- (grain|reads|note|stored|case|public): (.*)$")
_RULE = re.compile(r"'(\w+)' as finding\b")
UNION_MARK = "-- union of findings"
_FACTS = "facts"
#: The number of the views of facts, before those of all others.
FACTS_NUMBER = 100
#: Statements as DuckDB parsed them, by their text: to parse takes 2.0 a tenth of the time to judge a small case.
_PARSED: dict[str, duckdb.Statement] = {}
_READER_VERSION = "4"


@dataclass(frozen=True)
class ViewSpec:
    """One view: its number, name, sentence, grain, what it reads, and the select it stands for."""

    number: int
    name: str
    path: str
    sentence: str
    grain: str
    reads: tuple[str, ...]
    note: str
    is_stored: bool
    is_case: bool
    is_kept: bool
    is_public: bool
    select: str

    @property
    def stored_name(self) -> str:
        """The table that holds the rows of a stored view, or those of all cases."""
        return f"stored_{self.name}"

    @property
    def rules(self) -> list[str]:
        """The rules whose findings the view has."""
        return _RULE.findall(self.select)

    @property
    def is_in_database(self) -> bool:
        """Whether the database has a view of that name; rows of the others are gone when their case is judged."""
        return self.is_kept or not self.is_case

    @property
    def comment(self) -> str:
        """What the database says of the view."""
        parts = [self.sentence, f"Grain: {self.grain}."]
        return " ".join([*parts, self.note] if self.note else parts)


def sql_folder() -> Path:
    """Where the SQL files are: inside the installed package, else beside it in the repository."""
    inside = Path(__file__).parents[1] / "sql"
    return inside if inside.is_dir() else inside.parents[1] / "sql"


def parse_view(path: Path) -> ViewSpec:
    """A checked view from its file, or a SpecError."""
    match = _FILE_NAME.match(path.name)
    if match is None:
        raise SpecError("the name of a view's file is NNN_view_name.sql", where=str(path), try_this="rename it")
    text = path.read_text("utf-8")
    lines = text.splitlines()
    if not lines or not lines[0].startswith("-- "):
        raise SpecError("the first line must say what a row is", where=str(path), try_this="-- One sentence.")
    fields: dict[str, list[str]] = {"sentence": []}
    for line in lines:
        header = _HEADER.match(line)
        if header is not None:
            fields.setdefault(header.group(1), []).append(header.group(2).strip())
        elif line.startswith("-- ") and len(fields) == 1:
            fields["sentence"].append(line[3:].strip())
    create = _CREATE.search(text)
    if create is None or create.group(1) != match.group(2):
        raise SpecError(
            f"expected `create or replace view {match.group(2)} as` on a line",
            where=str(path),
            try_this="name the view like its file",
        )
    for key in ("grain", "reads"):
        if key not in fields:
            raise SpecError(f"header `-- {key}:` is missing", where=str(path), try_this="add it below the first line")
    return ViewSpec(
        number=int(match.group(1)),
        name=match.group(2),
        path=str(path),
        sentence=" ".join(fields["sentence"]),
        grain=" ".join(fields["grain"]),
        reads=_names(fields["reads"]),
        note=" ".join(fields.get("note", [])),
        is_stored="stored" in fields,
        is_case="case" in fields,
        is_kept=fields.get("case") == ["kept"],
        is_public="public" in fields,
        select=text[create.end() :].strip().removesuffix(";"),
    )


def parse_facts(path: Path) -> ViewSpec:
    """A view of the rows of a CSV file, or a SpecError."""
    lines = path.read_text("utf-8").splitlines()
    fields: dict[str, list[str]] = {}
    while lines and lines[0].startswith("# "):
        key, mark, rest = lines.pop(0)[2:].partition(": ")
        is_field = mark and key in ("grain", "note")
        fields.setdefault(key if is_field else "sentence", []).append(rest if is_field else f"{key}{mark}{rest}")
    if not {"sentence", "grain"} <= fields.keys() or not lines:
        raise SpecError(
            "a file of facts begins with `# One sentence.`, `# grain: one row a …` and the names of its columns",
            where=str(path),
            try_this="add what is missing",
        )
    head, *rows = csv.reader(lines)
    columns = [name.partition(" ")[::2] for name in head]
    for number, row in enumerate(rows, len(path.read_text("utf-8").splitlines()) - len(rows) + 1):
        if len(row) != len(columns):
            said = f"line {number} has {len(row)} cells, not {len(columns)}"
            raise SpecError(said, where=str(path), try_this="quote cells with commas")
    chosen = ", ".join(f"{name}::{kind} as {name}" if kind else name for name, kind in columns)
    values = ",\n".join("(" + ", ".join(_quoted(cell) if cell else "null" for cell in row) + ")" for row in rows)
    return ViewSpec(
        number=FACTS_NUMBER,
        name=path.stem,
        path=str(path),
        sentence=" ".join(fields["sentence"]),
        grain=" ".join(fields["grain"]),
        reads=(),
        note=" ".join(fields.get("note", [])),
        is_stored=True,
        is_case=False,
        is_kept=False,
        is_public=False,
        select=f"select {chosen} from (values\n{values}) as t({', '.join(name for name, _ in columns)})",
    )


def _names(parts: Iterable[str]) -> tuple[str, ...]:
    names = (name.strip() for part in parts for name in part.split(","))
    return tuple(name for name in names if name and name != "nothing")


@lru_cache(maxsize=4)
def view_specs(folder: str | None = None) -> tuple[ViewSpec, ...]:
    """All views in the order of their numbers; findings are joined into the view `finding`."""
    specs = _parsed(Path(folder) if folder else sql_folder())
    findings = [spec.name for spec in specs if spec.name.startswith("finding_")]
    return tuple(_with_union(spec, findings) if UNION_MARK in spec.select else spec for spec in specs)


def _parsed(folder: Path) -> list[ViewSpec]:
    """Facts, then the views in the order of their files; kept in the cache for names, sizes and times of the files."""
    facts = _files(folder / _FACTS, ".csv")
    found = _files(folder, ".sql")
    state = [f"{path.name} {stat.st_size} {stat.st_mtime_ns}" for path, stat in (*facts, *found)]

    def make() -> bytes:
        specs = [parse_facts(path) for path, _ in facts] + [parse_view(path) for path, _ in found]
        return json.dumps([spec.__dict__ for spec in specs]).encode()

    name = f"views-{cache.key_of([_READER_VERSION, str(folder), *state])}.json"
    return cache.cached_json(name, make, lambda held: [_from_json(**fields) for fields in held])


def _files(folder: Path, end: str) -> list[tuple[Path, os.stat_result]]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted((Path(entry.path), entry.stat()) for entry in entries if entry.name.endswith(end))


def _from_json(reads: list[str], **others: Any) -> ViewSpec:
    return ViewSpec(reads=tuple(reads), **others)


def _with_union(spec: ViewSpec, findings: list[str]) -> ViewSpec:
    union = "\n    union all by name\n".join(f"    select * from {name}" for name in findings)
    select = spec.select.replace(UNION_MARK, union)
    return ViewSpec(**{**spec.__dict__, "select": select, "reads": (*spec.reads, *findings)})


@lru_cache(maxsize=1)
def views_key() -> str:
    """A name for all that the columns of the views depend on: their SQL, the stored tables, DuckDB."""
    import duckdb

    tables = (table.create_statement() for table in TABLES)
    return cache.key_of((duckdb.__version__, *tables, *(f"{spec.name} {spec.select}" for spec in view_specs())))


def build_views(connection: duckdb.DuckDBPyConnection, specs: Iterable[ViewSpec] | None = None) -> None:
    """Makes every view of one database, in order; those of a case see all rows that are there."""
    for spec in specs if specs is not None else view_specs():
        if spec.is_stored or spec.is_case:
            compute(connection, spec, spec.stored_name)
            create_view(connection, spec, f"from {spec.stored_name}")
        else:
            create_view(connection, spec)


def create_view(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, select: str | None = None) -> None:
    """Makes a view over its own SQL, or over a table that holds its rows."""
    with _naming_file(spec):
        connection.execute(f"create or replace view {spec.name} as {select or spec.select}")
    connection.execute(f"comment on view {spec.name} is {_quoted(spec.comment)}")


def compute(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> int:
    """Puts the rows of a view into a table, which is made again; gives their number."""
    with _naming_file(spec):
        sql = f"create or replace table {table} as {spec.select}"
        if sql not in _PARSED:
            (_PARSED[sql],) = connection.extract_statements(sql)
        return int(connection.execute(_PARSED[sql]).fetchall()[0][0])


@contextlib.contextmanager
def _naming_file(spec: ViewSpec) -> Iterator[None]:
    """An error of the database inside the block says which file it comes from."""
    import duckdb

    try:
        yield
    except (duckdb.InternalException, duckdb.FatalException, duckdb.OutOfMemoryException) as error:
        said = str(error).partition("\n")[0]
        is_short = isinstance(error, duckdb.OutOfMemoryException)
        raise PlanError(
            f"view {spec.name} cannot be built: {said}",
            where=spec.path,
            try_this="a higher memory_limit in aiscorr.toml" if is_short else TRY_AFTER_FAULT,
        ) from None
    except duckdb.Error as error:
        raise SpecError(
            f"view {spec.name} cannot be built: {error}", where=spec.path, try_this="correct the SQL"
        ) from None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
