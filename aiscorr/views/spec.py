"""Reads sql/*.sql, checks their headers, and builds the views, and the tables computed from views, in order.

A file holds one view. Its first line says what a row is; `-- grain:`, `-- reads:`, `-- note:` follow. A
view marked `-- stored:` is computed into a table when something was ingested, and the view reads that
table: it is fast, and never stale, because only ingest changes what it stands on (refresh.py). A stored
view names in `-- empty without:` the inputs, or `input where condition`, of which some must have rows for it
to have any; where there are several such lines, this holds for each.
"""

from __future__ import annotations

import contextlib
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

if TYPE_CHECKING:
    import duckdb

_FILE_NAME = re.compile(r"^(\d{3})_([a-z][a-z0-9_]*)\.sql$")
_CREATE = re.compile(r"^create or replace view ([a-z][a-z0-9_]*) as\s*$", re.MULTILINE)
_HEADER = re.compile(r"^-- (grain|reads|note|stored|public|empty without): (.*)$")
UNION_MARK = "-- union of findings"
_READER_VERSION = "1"


@dataclass(frozen=True)
class Source:
    """Rows of an input: all, or those of which a condition holds."""

    name: str
    condition: str

    @property
    def any_row(self) -> str:
        """A select that has a row where there is such a row."""
        return f"select 1 from {self.name} where {self.condition} limit 1"

    @property
    def count_rows(self) -> str:
        """A select of the number of such rows."""
        return f"select count(*) from {self.name} where {self.condition}"


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
    is_public: bool
    empty_without: tuple[tuple[Source, ...], ...]
    select: str

    @property
    def stored_name(self) -> str:
        """The table a stored view reads."""
        return f"stored_{self.name}"

    @property
    def comment(self) -> str:
        """What the database says of the view."""
        parts = [self.sentence, f"Grain: {self.grain}."]
        return " ".join([*parts, self.note] if self.note else parts)

    @property
    def relation(self) -> str:
        """What holds its rows: the table of a stored view, else the view."""
        return self.stored_name if self.is_stored else self.name


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
    fields: dict[str, list[str]] = {}
    for line in lines[1:]:
        header = _HEADER.match(line)
        if header is not None:
            fields.setdefault(header.group(1), []).append(header.group(2).strip())
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
        sentence=lines[0][3:].strip(),
        grain=" ".join(fields["grain"]),
        reads=_names(fields["reads"]),
        note=" ".join(fields.get("note", [])),
        is_stored="stored" in fields,
        is_public="public" in fields,
        empty_without=tuple(_sources(line) for line in fields.get("empty without", [])),
        select=text[create.end() :].strip().removesuffix(";"),
    )


def _names(parts: Iterable[str]) -> tuple[str, ...]:
    names = (name.strip() for part in parts for name in part.split(","))
    return tuple(name for name in names if name and name != "nothing")


def _sources(line: str) -> tuple[Source, ...]:
    """`name, name` or `name where condition`; several conditions are parted by semicolons."""
    parts = (part.strip().partition(" where ") for part in line.split(";" if " where " in line else ","))
    return tuple(Source(name, condition or "true") for name, _, condition in parts)


@lru_cache(maxsize=4)
def view_specs(folder: str | None = None) -> tuple[ViewSpec, ...]:
    """All views in the order of their numbers; findings are joined into the view `finding`."""
    specs = _parsed(Path(folder) if folder else sql_folder())
    findings = [spec.name for spec in specs if spec.name.startswith("finding_")]
    return tuple(_with_union(spec, findings) if UNION_MARK in spec.select else spec for spec in specs)


def _parsed(folder: Path) -> list[ViewSpec]:
    """The views of a folder in the order of its files, kept in the cache for their names, sizes and times."""
    with os.scandir(folder) as entries:
        found = sorted((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".sql"))
    state = [f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found]

    def make() -> bytes:
        return json.dumps([_plain(parse_view(folder / name)) for name, _ in found]).encode()

    name = f"views-{cache.key_of([_READER_VERSION, str(folder), *state])}.json"
    return cache.cached_json(name, make, lambda held: [_from_plain(**fields) for fields in held])


def _plain(spec: ViewSpec) -> dict[str, Any]:
    """As JSON has it."""
    groups = [[[source.name, source.condition] for source in group] for group in spec.empty_without]
    return {**spec.__dict__, "empty_without": groups}


def _from_plain(reads: list[str], empty_without: list[list[list[str]]], **others: Any) -> ViewSpec:
    groups = tuple(tuple(Source(*source) for source in group) for group in empty_without)
    return ViewSpec(reads=tuple(reads), empty_without=groups, **others)


def _with_union(spec: ViewSpec, findings: list[str]) -> ViewSpec:
    union = "\n    union all by name\n".join(f"    select * from {name}" for name in findings)
    select = spec.select.replace(UNION_MARK, union)
    return ViewSpec(**{**spec.__dict__, "select": select, "reads": (*spec.reads, *findings)})


def build_views(connection: duckdb.DuckDBPyConnection, specs: Iterable[ViewSpec] | None = None) -> None:
    """Creates every view and computes every stored one, in order."""
    for spec in specs if specs is not None else view_specs():
        build_view(connection, spec)


def build_view(connection: duckdb.DuckDBPyConnection, spec: ViewSpec) -> None:
    """Creates one view; a stored one is computed now."""
    if spec.is_stored:
        compute(connection, spec, spec.stored_name)
        connection.execute(f"create or replace view {spec.name} as from {spec.stored_name}")
    else:
        with _told(spec):
            connection.execute(f"create or replace view {spec.name} as {spec.select}")
    connection.execute(f"comment on view {spec.name} is {_quoted(spec.comment)}")


def compute(connection: duckdb.DuckDBPyConnection, spec: ViewSpec, table: str) -> int:
    """Puts the rows of a view into a table, which is made anew; gives their number."""
    with _told(spec):
        return int(connection.execute(f"create or replace table {table} as {spec.select}").fetchall()[0][0])


@contextlib.contextmanager
def _told(spec: ViewSpec) -> Iterator[None]:
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
