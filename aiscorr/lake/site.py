"""Makes a lake where none is, checks what made one that is there, and clears up after a writer that died."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aiscorr.errors import DatabaseError, UsageError
from aiscorr.lake.address import Lake
from aiscorr.lake.catalogue import attach, detach, explained
from aiscorr.lake.ledger import Ledger
from aiscorr.lake.push import put_note, versions
from aiscorr.lake.shape import LAKE, NOTES, make_tables
from aiscorr.store.database import in_memory
from aiscorr.store.load import known_files

if TYPE_CHECKING:
    import duckdb


@contextlib.contextmanager
def attached(
    connection: duckdb.DuckDBPyConnection, book: Ledger, *, snapshot: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The connection with the lake attached, to write or as of a snapshot; errors in the block are explained."""
    data = book.data_path()
    if data is None:
        raise no_lake(book.lake)
    attach(connection, book.lake, data, snapshot=snapshot)
    try:
        with explained(book.lake):
            _check(connection, book.lake)
            yield connection
    finally:
        with contextlib.suppress(Exception):
            connection.execute("rollback")
        with contextlib.suppress(Exception):
            detach(connection)


def no_lake(lake: Lake) -> DatabaseError:
    """What to say where nothing was ever stored."""
    return DatabaseError(
        "there is no lake yet", where=lake.name, try_this="aiscorr ingest PATH…, or aiscorr copy --to it"
    )


def make(book: Ledger) -> None:
    """Makes the lake, or what of it is missing. Raises UsageError where nobody says where its Parquet goes."""
    book.make()
    if book.data_path() is not None:
        with contextlib.closing(in_memory()) as connection, _attached_raw(connection, book, book.data_path() or ""):
            if _has_tables(connection):
                return
            _make_tables(connection)
        return
    data = book.lake.data
    if not data:
        raise UsageError(
            "this lake is new, and nothing says where its Parquet goes", where=book.lake.name,
            try_this="AISCORR_LAKE_DATA=/shared/lake or s3://bucket/prefix, or data under [lake] in aiscorr.toml",
        )  # fmt: skip
    with contextlib.closing(in_memory()) as connection:
        data = _checked_place(data)
        attach(connection, book.lake, data, is_new=True)
        with explained(book.lake):
            _refuse_filled(connection, data)
            _make_tables(connection)
            detach(connection)


@contextlib.contextmanager
def _attached_raw(connection: duckdb.DuckDBPyConnection, book: Ledger, data: str) -> Iterator[None]:
    attach(connection, book.lake, data)
    with explained(book.lake):
        yield
        detach(connection)


def _make_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """All in one transaction; a lake whose making broke off has no tables and is made again."""
    # texts of logs may hold what PostgreSQL's texts do not, so no rows go there
    connection.execute(f"call {LAKE}.set_option('data_inlining_row_limit', 0)")
    connection.execute("begin")
    make_tables(connection)
    for name, value in versions().items():
        put_note(connection, name, value)
    connection.execute("commit")


def _has_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    sql = "select 1 from duckdb_tables() where database_name = ? and table_name = ?"
    return bool(connection.execute(sql, [LAKE, NOTES]).fetchall())


def _checked_place(data: str) -> str:
    """Where Parquet goes, with a slash behind; a folder is made."""
    if "://" not in data:
        data = os.path.abspath(os.path.expanduser(data))
        try:
            os.makedirs(data, exist_ok=True)
        except OSError as error:
            raise DatabaseError(
                f"the folder of the lake cannot be made: {error.strerror}", where=data, try_this="AISCORR_LAKE_DATA"
            ) from None
    return data.rstrip("/") + "/"


def _refuse_filled(connection: duckdb.DuckDBPyConnection, data: str) -> None:
    """What lies where the lake's Parquet goes and is not its own would be taken for what a dead writer left."""
    found = connection.execute("select file from glob(?) limit 1", [f"{data}**"]).fetchall()
    if found:
        raise UsageError(
            "a new lake needs a place of its own, and there are files in this one", where=data,
            try_this="another folder or prefix in AISCORR_LAKE_DATA",
        )  # fmt: skip


def _check(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Raises DatabaseError unless this aiscorr made the lake, or one that makes the same tables."""
    import duckdb

    try:
        found = dict(connection.execute(f"select name, value from {LAKE}.{NOTES}").fetchall())
    except duckdb.CatalogException:
        raise DatabaseError(
            "this DuckLake was not made by aiscorr", where=lake.name, try_this="name another database of PostgreSQL"
        ) from None
    for name, value in versions().items():
        if found.get(name) != value:
            raise DatabaseError(
                f"this lake has {name.replace('_', ' ')} {found.get(name)}, this aiscorr writes {value}",
                where=lake.name,
                try_this="use the aiscorr that made it, or copy it: aiscorr copy --to a file with that one",
            )


def sweep(connection: duckdb.DuckDBPyConnection, book: Ledger) -> None:
    """Ends what writers that died began; the lake is attached, and no other process writes."""
    is_dirty = False
    for batch in book.unconfirmed():
        if connection.execute(f"select 1 from {LAKE}.ingest_log where run_id = ?", [batch]).fetchall():
            known = known_files(connection, f"{LAKE}.ingested_file where run_id = {batch}")
            book.confirm(batch, known.values())
        else:
            book.give_back(batch)
            is_dirty = True
    if is_dirty:
        connection.execute(f"call ducklake_delete_orphaned_files('{LAKE}', cleanup_all => true)")
