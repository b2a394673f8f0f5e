"""What may come next in a statement: views behind `from`, columns behind an alias, named queries behind `@`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"[@.\\]?[\w$]*$")
_SOURCE = re.compile(r"\b(?:from|join|describe|schema|\\d)\s+[\w$]*$", re.IGNORECASE)
_QUALIFIED = re.compile(r"\b(\w+)\.(\w*)$")
_ALIAS = re.compile(r"\b(?:from|join|,)\s*(\w+)(?:\s+as)?(?:\s+(\w+))?", re.IGNORECASE)
_PARAMETER = re.compile(r"^\s*@(\w+)(?:\s+-p\s+\S+)*\s+(?:-p\s+)?\w*$")


@dataclass(frozen=True)
class Names:
    """What a database has names for: views that others may rely on first, their columns, functions, keywords."""

    public: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    queries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: tuple[str, ...] = ()


def names_of(
    connection: duckdb.DuckDBPyConnection, public: Iterable[str], queries: Mapping[str, Sequence[str]],
    commands: Sequence[str],
) -> Names:  # fmt: skip
    """The names of a database, with the named queries and their parameters."""
    columns: dict[str, list[str]] = {}
    rows = connection.execute(
        "select table_name, column_name from duckdb_columns() where not internal order by table_name, column_index"
    ).fetchall()
    for table, column in rows:
        columns.setdefault(str(table), []).append(str(column))
    rows = connection.execute(
        "select keyword_name from duckdb_keywords() union select distinct function_name from duckdb_functions()"
        " where regexp_matches(function_name, '^[a-z]') order by 1"
    ).fetchall()
    first = tuple(name for name in sorted(public) if name in columns)
    rest = tuple(name for name in sorted(columns) if name not in first)
    return Names(first, rest, columns, tuple(str(row[0]) for row in rows), queries, tuple(commands))


def candidates(before: str, names: Names) -> tuple[str, list[str]]:
    """The part of a word in front of the cursor, and what it may become, the likeliest first.

    Behind `from fa` the public views are offered before the others; behind `f.` the columns of what `f` stands for.
    """
    qualified = _QUALIFIED.search(before)
    if qualified is not None:
        view = _aliases(before).get(qualified[1], qualified[1])
        if view in names.columns:
            return qualified[2], _fitting(qualified[2], [names.columns[view]])
    found = _WORD.search(before)
    word = found[0] if found else ""
    if word.startswith("@"):
        return word, _fitting(word, [[f"@{name}" for name in names.queries]])
    if word[:1] in (".", "\\") and before.strip() == word:
        return word, _fitting(word, [names.commands])
    if _SOURCE.search(before):
        return word, _fitting(word, [names.public, names.views])
    named = _PARAMETER.match(before)
    if named is not None and named[1] in names.queries:
        return word, _fitting(word, [[f"{name}=" for name in names.queries[named[1]]], ["-p"]])
    used = [view for view in _aliases(before).values() if view in names.columns]
    own = list(dict.fromkeys(column for view in used for column in names.columns[view]))
    every = sorted({column for columns in names.columns.values() for column in columns} - set(own))
    return word, _fitting(word, [own, names.public, names.views, names.words, every])


def _aliases(text: str) -> dict[str, str]:
    """What the names of a statement's sources stand for: `from failure as f` gives failure and f."""
    found: dict[str, str] = {}
    for view, alias in _ALIAS.findall(text):
        found[view] = view
        if alias:
            found[alias] = view
    return found


def _fitting(word: str, groups: Sequence[Sequence[str]]) -> list[str]:
    """The names that begin with the word, then those that hold it, then those that have its letters in order."""
    part = word.lower()
    scattered = re.compile(".*?".join(map(re.escape, part)))
    ranked = []
    for group, members in enumerate(groups):
        for position, name in enumerate(members):
            lower = name.lower()
            if part in lower:
                ranked.append((0 if lower.startswith(part) else 1, group, position, name))
            elif scattered.search(lower):
                ranked.append((2, group, position, name))
    return list(dict.fromkeys(name for *_, name in sorted(ranked)))
