"""Makes a lake where none is, checks what made one that is there, and clears up after a writer that died."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aiscorr.errors import DatabaseBusyError, DatabaseError, UsageError
from aiscorr.lake.address import Lake
from aiscorr.lake.catalogue import attach, detach, explained, open_store
from aiscorr.lake.ledger import MAKING, Ledger
from aiscorr.lake.push import put_note, take_turn, versions
from aiscorr.lake.shape import LAKE, NOTES, make_tables
from aiscorr.store.database import in_memory
from aiscorr.store.load import each_known_file

if TYPE_CHECKING:
    import duckdb

#: So long a lake is waited for that another process makes.
_WAIT_S = 60.0


@contextlib.contextmanager
def attached(
    connection: duckdb.DuckDBPyConnection, book: Ledger, *, snapshot: int | None = None, name: str = LAKE
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The connection with the lake attached, to write or as of a snapshot; errors in the block are explained."""
    data = book.data_path()
    if data is None:
        raise no_lake(book.lake)
    attach(connection, book.lake, data, snapshot=snapshot, name=name)
    try:
        with explained(book.lake):
            _check(connection, book.lake, name)
            yield connection
    except DatabaseBusyError as error:
        error.where = error.where or book.lake.name
        raise
    finally:
        with contextlib.suppress(Exception):
            connection.execute("rollback")
        with contextlib.suppress(Exception):
            detach(connection, name)


@contextlib.contextmanager
def reading_lake(book: Ledger, snapshot: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own to a snapshot of the lake, else to the newest. Raises DatabaseError where none is."""
    if book.data_path() is None:
        raise no_lake(book.lake)
    chosen = book.snapshot() if snapshot is None else snapshot
    with contextlib.closing(in_memory()) as connection, attached(connection, book, snapshot=chosen):
        yield connection


def no_lake(lake: Lake) -> DatabaseError:
    """What to say where nothing was ever stored."""
    return DatabaseError(
        "there is no lake yet", where=lake.name, try_this="aiscorr ingest PATH…, or aiscorr copy --to it"
    )


def make(book: Ledger) -> None:
    """Makes the lake, or what of it is missing. Raises UsageError where nobody says where its Parquet goes."""
    if _is_made(book):
        return
    _data_of(book)
    with book.committing(_WAIT_S, MAKING):
        if not _is_made(book):
            _make(book)


def _is_made(book: Ledger) -> bool:
    return book.data_path() is not None and book.is_made() and book.has_table(NOTES)


def _data_of(book: Ledger) -> str:
    """Where the Parquet of the lake is, or will be."""
    data = book.data_path() or book.lake.data
    if not data:
        raise UsageError(
            "this lake is new, and nothing says where its Parquet goes", where=book.lake.name,
            try_this="AISCORR_LAKE_DATA=/shared/lake or s3://bucket/prefix, or data under [lake] in aiscorr.toml",
        )  # fmt: skip
    return data


def _make(book: Ledger) -> None:
    book.make()
    data, is_new = _data_of(book), book.data_path() is None
    with contextlib.closing(in_memory()) as connection:
        if is_new:
            data = _checked_place(data)
            open_store(connection, book.lake, data)
            with explained(book.lake):
                _refuse_filled(connection, data)
        attach(connection, book.lake, data, is_new=is_new)
        with explained(book.lake):
            if not book.has_table(NOTES):
                _make_tables(connection)


def _make_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """All in one transaction; a lake whose making broke off has no tables and is made again."""
    # texts of logs may hold what PostgreSQL's texts do not, so no rows go there
    connection.execute(f"call {LAKE}.set_option('data_inlining_row_limit', 0)")
    connection.execute("begin")
    make_tables(connection)
    for name, value in versions().items():
        put_note(connection, name, value)
    connection.execute("commit")


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


def _check(connection: duckdb.DuckDBPyConnection, lake: Lake, name: str) -> None:
    """Raises DatabaseError unless this aiscorr made the lake, or one that makes the same tables."""
    import duckdb

    try:
        found = dict(connection.execute(f"select name, value from {name}.{NOTES}").fetchall())
    except duckdb.CatalogException:
        raise DatabaseError(
            "this DuckLake was not made by aiscorr", where=lake.name, try_this="name another database of PostgreSQL"
        ) from None
    for kind, value in versions().items():
        if found.get(kind) != value:
            raise DatabaseError(
                f"this lake has {kind.replace('_', ' ')} {found.get(kind)}, this aiscorr writes {value}",
                where=lake.name,
                try_this="use the aiscorr that made it, or copy it: aiscorr copy --to a file with that one",
            )


def sweep_after_the_dead(book: Ledger) -> None:
    """Ends what writers that died began, where there is any and nobody writes now; else who writes does it."""
    if not book.unconfirmed():
        return
    with (
        contextlib.suppress(DatabaseBusyError),
        book.committing(0.0),
        contextlib.closing(in_memory()) as connection,
        attached(connection, book),
    ):
        sweep(connection, book)


def sweep(connection: duckdb.DuckDBPyConnection, book: Ledger) -> None:
    """Ends what writers that died began; the lake is attached, and no other process writes.

    One that only seems dead cannot commit from here on, as the turn is another (see push.take_turn), so what is not in
    the lake now will not come.
    """
    batches = book.unconfirmed()
    if not batches:
        return
    take_turn(connection)
    is_dirty = False
    for batch in batches:
        if connection.execute(f"select 1 from {LAKE}.ingest_log where run_id = ?", [batch]).fetchall():
            _confirm(connection, book, batch)
        else:
            book.give_back(batch)
            is_dirty = True
    if is_dirty:
        connection.execute(f"call ducklake_delete_orphaned_files('{LAKE}', cleanup_all => true)")


def _confirm(connection: duckdb.DuckDBPyConnection, book: Ledger, batch: int) -> None:
    """Notes a batch that is in the lake: its files, and those to be read when they are seen next.

    A copy of a database has files of many batches, and goes where none was.
    """
    chosen = "" if book.is_empty() else f" where run_id = {batch} or modified_ns is null"
    stale = connection.execute(
        f"select distinct duplicate_of from {LAKE}.ingested_file where modified_ns is null and duplicate_of is not null"
    ).fetchall()
    book.confirm(batch, each_known_file(connection, f"{LAKE}.ingested_file{chosen}"), [row[0] for row in stale])
