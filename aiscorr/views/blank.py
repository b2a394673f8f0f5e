"""A database that knows the patterns and has every view made, without other rows, kept to begin new databases with.

To make all views takes longer than to read a few logs; where they are there, only those are computed whose inputs have
rows. The file is kept with its checksum, for each state of the SQL and of the patterns and each DuckDB.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aiscorr import cache
from aiscorr.errors import AiscorrError
from aiscorr.schema.tables import TABLES
from aiscorr.store import load
from aiscorr.store.database import SCHEMA_VERSION, reading, writing
from aiscorr.views.facts import pattern_rows, patterns_key
from aiscorr.views.refresh import definitions_key, refresh_views

if TYPE_CHECKING:
    import duckdb

_DIGEST_BYTES = 32


def blank_database() -> bytes | None:
    """The bytes of the file; none where no file can be written."""
    try:
        return cache.cached(_name(), _make, _whole)
    except (AiscorrError, OSError):
        return None


@contextlib.contextmanager
def reading_kept() -> Iterator[duckdb.DuckDBPyConnection | None]:
    """A connection to such a database, where an ingest has kept one; None where none has, or no file can be written."""
    data = cache.kept(_name(), _whole)
    with contextlib.ExitStack() as held:
        yield None if data is None else _opened(data, held)


def _opened(data: bytes, held: contextlib.ExitStack) -> duckdb.DuckDBPyConnection | None:
    try:
        path = Path(held.enter_context(tempfile.TemporaryDirectory())) / "blank.duckdb"
        path.write_bytes(data)
    except OSError:
        return None
    return held.enter_context(reading(str(path)))


def _name() -> str:
    tables = (table.create_statement() for table in TABLES)
    return f"blank-{cache.key_of((SCHEMA_VERSION, definitions_key(), patterns_key(), *tables))}.duckdb"


def _whole(held: bytes) -> bytes:
    """The file without its checksum. Raises ValueError where they do not fit."""
    digest, data = held[:_DIGEST_BYTES], held[_DIGEST_BYTES:]
    if hashlib.sha256(data).digest() != digest:
        raise ValueError("damaged")
    return data


def _make() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blank.duckdb"
        with writing(str(path)) as copy:
            connection = copy.connection
            connection.execute("begin")
            load.replace_patterns(connection, pattern_rows(), patterns_key())
            refresh_views(connection)
            connection.execute("commit")
        data = path.read_bytes()
    return hashlib.sha256(data).digest() + data
