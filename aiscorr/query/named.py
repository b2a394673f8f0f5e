"""Queries with a name: files NAME.sql of the package and of the user, with parameters and a word on having no rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aiscorr.errors import SpecError, UsageError
from aiscorr.query.statement import parameter_names

if TYPE_CHECKING:
    import duckdb

_NAME = re.compile(r"^[a-z][a-z0-9_]*$")
_WITHOUT_ROWS = "-- without rows:"


@dataclass(frozen=True)
class NamedQuery:
    """A query with a name: its sentence, its parameters (null where not given), its SQL, why it may have no rows."""

    name: str
    sentence: str
    sql: str
    path: str
    without_rows: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the `$parameters`, in the order of their first use."""
        return parameter_names(self.sql)


def named_queries(folders: Iterable[str] = ()) -> dict[str, NamedQuery]:
    """The bundled queries and those of the user's folders; a user's goes before a bundled one of its name."""
    found: dict[str, NamedQuery] = {}
    for folder in (str(Path(__file__).parents[1] / "queries"), *folders):
        for path in sorted(Path(folder).glob("*.sql")):
            text = path.read_text("utf-8")
            first, _, body = text.partition("\n")
            if not _NAME.match(path.stem) or not first.startswith("-- "):
                raise SpecError(
                    "a named query is a file NAME.sql (small letters) whose first line says what it shows",
                    where=str(path), try_this="-- One sentence.",
                )  # fmt: skip
            why, _, rest = body.partition("\n") if body.startswith(_WITHOUT_ROWS) else ("", "", body)
            why = why.removeprefix(_WITHOUT_ROWS).strip()
            found[path.stem] = NamedQuery(path.stem, first[3:].strip(), rest.strip(), str(path), why)
    return found


def named_query(name: str, folders: Iterable[str] = ()) -> NamedQuery:
    """The query called `name`. Raises UsageError with the names there are."""
    known = named_queries(folders)
    if name not in known:
        from difflib import get_close_matches

        raise UsageError(
            f"no query is called @{name}",
            where="aiscorr query",
            try_this=", ".join("@" + near for near in get_close_matches(name, known, n=4)) or "aiscorr query --list",
        )
    return known[name]


def why_no_rows(connection: duckdb.DuckDBPyConnection, asked: NamedQuery, given: dict[str, str]) -> str:
    """Why a named query has no rows: a failure or job of that name is not known, or what the query says of it."""
    for name, column in (("failure", "failure_id"), ("job", "job_id")):
        if name not in given:
            continue
        known = [
            str(row[0]) for row in connection.execute(f"select distinct {column} from {name} order by 1").fetchall()
        ]
        jobs = connection.execute("select 1 from job where job_id = ?", [given[name]]).fetchall()
        if given[name] not in known and not jobs:
            return f"no {name} is called {given[name]!r}" + (f"; there is {', '.join(known[:6])}" if known else "")
    return asked.without_rows
