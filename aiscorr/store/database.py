"""Opens the DuckDB file, to read for one statement, or to write a new version of it and publish that.

A writer works on a copy beside the file and puts it in place with one rename. Readers therefore never
wait and never see half an ingest: an open reader keeps the old file, the next one sees the new. A
writer that dies leaves the old file as it was. Two writers exclude each other by a lock file.
Nothing holds the database between statements.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from aiscorr.errors import DatabaseBusyError, DatabaseError
from aiscorr.schema.tables import TABLES
from aiscorr.store.copies import copy_at_rest, publish, remove
from aiscorr.store.faults import broken, busy_error, is_busy, write_error
from aiscorr.store.working_copy import WorkingCopy

if TYPE_CHECKING:
    import duckdb

SCHEMA_VERSION = "5"
DEFAULT_MEMORY_LIMIT = "1GB"
#: So often is a file opened again that changes while it is opened.
_MANY_VERSIONS = 100
_RETRY_S = 0.1
#: Of a new file. A table takes a block at least, and some 120 have few rows: with DuckDB's 256 KiB a database of some
#: logs is three times as large, and as much is copied and written at each ingest.
_BLOCK_BYTES = "65536"
#: So many rows of a new table are in memory, all columns of them, before they are written: by default 122,880, which of
#: lines with sixty columns are 100 MiB. Only a file that is attached can be given another number.
_GROUP_ROWS = 32_768


def base_config(memory_limit: str, threads: int | None) -> dict[str, Any]:
    """Settings of every connection: limits, little memory, no downloads, a file format that DuckDB 1.5 can read."""
    config: dict[str, Any] = {
        "memory_limit": memory_limit,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "storage_compatibility_version": "v1.5.0",
        # five row groups by default, which makes a bulk insert no faster and 20 MiB larger
        "write_buffer_row_group_count": 1,
        "default_block_size": _BLOCK_BYTES,
    }
    if threads:
        config["threads"] = threads
    return config


def own_files(path: str) -> frozenset[str]:
    """The database and what DuckDB or aiscorr keep beside it."""
    ends = ("", ".wal", ".lock", ".writing", ".writing.wal", ".writing.small", ".writing.small.wal")
    return frozenset(f"{path}{end}" for end in ends)


def _quiet(path: str, config: dict[str, Any], *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection that draws no bar on stdout, as DuckDB does where it takes a child process for a notebook."""
    import duckdb

    connection = duckdb.connect(path, read_only=read_only, config=config)
    connection.execute("set enable_progress_bar = false")
    return connection


def _opened(path: str, opener: Callable[[], duckdb.DuckDBPyConnection], wait_s: float) -> duckdb.DuckDBPyConnection:
    """What `opener` gives, tried again for a while where another process holds the file."""
    import duckdb

    end = time.monotonic() + wait_s
    while True:
        try:
            return opener()
        except duckdb.IOException as error:
            if not is_busy(error):
                raise broken(path, error) from None
            if time.monotonic() > end:
                raise busy_error(path, error) from None
            time.sleep(_RETRY_S)
        except duckdb.Error as error:
            raise broken(path, error) from None


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C inside a statement is Ctrl-C again; DuckDB makes a RuntimeError of it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def check_schema(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Raises DatabaseError unless the file was made by this version of the schema."""
    import duckdb

    try:
        version = connection.execute("select max(version) from schema_info").fetchall()[0][0]
    except duckdb.CatalogException:
        if connection.execute("select 1 from duckdb_tables()").fetchall():
            raise DatabaseError(
                "this database was not made by aiscorr", where=path, try_this="name another file with --db"
            ) from None
        return
    if version != SCHEMA_VERSION:
        raise DatabaseError(
            f"this database has schema version {version}, this aiscorr writes version {SCHEMA_VERSION}",
            where=path,
            try_this="ingest the logs into a new file (--db), or use the aiscorr that made this one",
        )


@contextlib.contextmanager
def reading(
    path: str, *, memory_limit: str = DEFAULT_MEMORY_LIMIT, threads: int | None = None, wait_s: float = 5.0
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection for one statement or one report; closed when the block ends."""
    check_there(path)
    config = base_config(memory_limit, threads)
    opener = functools.partial(_opened, path, lambda: _quiet(path, config, read_only=True), wait_s)
    with _checked(_whole(path, opener), path) as connection:
        yield connection


@contextlib.contextmanager
def reading_newest(
    path: str, *, memory_limit: str = DEFAULT_MEMORY_LIMIT, threads: int | None = None, wait_s: float = 5.0
) -> Iterator[duckdb.DuckDBPyConnection]:
    """As `reading`, for a process that reads in several threads while one of them, or another process, publishes.

    Connections of one process to one path share what the first of them opened, as long as any of them is open: they
    would not see what was published since. Here each has a DuckDB of its own, to which the file is attached.
    """
    check_there(path)
    config = base_config(memory_limit, threads)
    opener = functools.partial(_opened, path, lambda: _attached(path, config, "read_only"), wait_s)
    with _checked(_whole(path, opener), path) as connection:
        yield connection


def check_there(path: str) -> None:
    """Raises DatabaseError where no database is."""
    if not os.path.exists(path):
        raise DatabaseError(
            "there is no database yet", where=path, try_this="aiscorr ingest PATH…, or name the file with --db"
        )


def _attached(path: str, config: dict[str, Any], options: str) -> duckdb.DuckDBPyConnection:
    """A connection to a DuckDB of its own; the file is attached with these options."""
    connection = _quiet(":memory:", config | {"storage_compatibility_version": "latest"})
    try:
        quoted = path.replace("'", "''")
        connection.execute(f"attach '{quoted}' as aiscorr_file ({options})")
        connection.execute("use aiscorr_file")
    except BaseException:
        connection.close()
        raise
    return connection


def _whole(path: str, opener: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
    """What `opener` gives of one version of the file, opened again where another was published meanwhile.

    DuckDB (1.5 and 2.0) opens a file once for its headers and once more for its blocks. Where a publication falls
    between, the headers of one version are read with the blocks of another: an error, or a wrong answer without one.
    """
    version = _version(path)
    for _ in range(_MANY_VERSIONS):
        try:
            connection = opener()
        except DatabaseError:
            before, version = version, _version(path)
            if version == before:
                raise
            continue
        before, version = version, _version(path)
        if version == before:
            return connection
        connection.close()
    raise DatabaseBusyError(
        "the database is replaced too often to be opened", where=path, try_this="run this again in a while"
    )


def _version(path: str) -> tuple[int, int, int] | None:
    """What tells one published file from another; of none where it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def _checked(connection: duckdb.DuckDBPyConnection, path: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Closes the connection at the end; what it is connected to was made by this version of the schema."""
    try:
        with interruptible():
            check_schema(connection, path)
            yield connection
    finally:
        connection.close()


def in_memory(memory_limit: str = "256MB", threads: int = 1) -> duckdb.DuckDBPyConnection:
    """An empty database that is gone when it is closed."""
    return _quiet(":memory:", base_config(memory_limit, threads) | {"storage_compatibility_version": "latest"})


@contextlib.contextmanager
def _locked(path: str, wait_s: float) -> Iterator[None]:
    end = time.monotonic() + wait_s
    try:
        handle = open(f"{path}.lock", "a+")  # noqa: SIM115 (closed by `with` below)
    except OSError as error:
        raise DatabaseError(
            f"the folder of the database cannot be written: {error.strerror}",
            where=path,
            try_this="name another file with --db",
        ) from None
    with handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise DatabaseBusyError(
                        "another ingest is writing this database",
                        where=path,
                        try_this="wait for it to end, then run this again",
                    ) from None
                time.sleep(_RETRY_S)
        yield


@contextlib.contextmanager
def _changing(copy: str, path: str, config: dict[str, Any], is_packed: bool) -> Iterator[WorkingCopy]:
    """A copy of `path` to write to, closed when the block ends, and packed where that is worth it."""
    settings = config | {"temp_directory": f"{copy}.tmp"}

    def opened() -> duckdb.DuckDBPyConnection:
        kind = "" if os.path.exists(copy) else ", storage_version 'v1.5.0'"
        # who publishes a copy when all is in it needs no log, which each commit would wait for
        options = f"row_group_size {_GROUP_ROWS}, recovery_mode no_wal_writes{kind}"
        return _opened(path, lambda: _attached(copy, settings, options), wait_s=0)

    working = WorkingCopy(opened)
    try:
        with interruptible():
            check_schema(working.connection, path)
            _prepare(working.connection)
            yield working
            working.save()
            is_roomy = is_packed and working.is_roomy()
    finally:
        working.connection.close()
    if is_roomy:
        _pack(copy, config)


@contextlib.contextmanager
def scratch(
    path: str, *, memory_limit: str = DEFAULT_MEMORY_LIMIT, threads: int | None = None
) -> Iterator[WorkingCopy]:
    """A new database that nobody else knows of, to write to; the caller removes it."""
    try:
        with _changing(path, path, base_config(memory_limit, threads), is_packed=False) as working:
            yield working
    except Exception as error:
        raise write_error(path, error) from error


@contextlib.contextmanager
def writing(
    path: str,
    *,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
    threads: int | None = None,
    wait_s: float = 5.0,
    is_packed: bool = False,
) -> Iterator[WorkingCopy]:
    """A copy to write to, which replaces the database when the block ends well.

    When it ends with an error the copy is thrown away and the database is as it was. `is_packed`: where much of the
    copy has become free it is written once more without that; DuckDB uses free space again but gives none back.
    """
    path = os.path.realpath(path)
    config = base_config(memory_limit, threads)
    copy = f"{path}.writing"
    with _locked(path, wait_s):
        remove(copy)
        try:
            if os.path.exists(path):
                while not copy_at_rest(path, copy):
                    with reading(path, wait_s=wait_s):
                        pass  # waits for who holds it, or says so
            with _changing(copy, path, config, is_packed) as working:
                yield working
            publish(copy, path)
        except OSError as error:
            raise DatabaseError(
                f"the database cannot be written: {error.strerror}",
                where=path,
                try_this="free disk space or name another file with --db",
            ) from None
        except Exception as error:
            raise write_error(path, error) from error
        finally:
            remove(copy)


def _pack(path: str, config: dict[str, Any]) -> None:
    """Writes a closed database again, without what is free in it."""
    small = f"{path}.small"
    connection = _quiet(":memory:", config)
    try:
        old, new = (name.replace("'", "''") for name in (path, small))
        connection.execute(f"attach '{old}' as old_file (read_only)")
        connection.execute(f"attach '{new}' as new_file (storage_version 'v1.5.0')")
        connection.execute("copy from database old_file to new_file")
        connection.execute("checkpoint new_file")
    finally:
        connection.close()
    os.replace(small, path)


def _prepare(connection: duckdb.DuckDBPyConnection) -> None:
    if _has_tables(connection):
        return
    connection.execute("begin")
    connection.execute("create table if not exists schema_info (version varchar)")
    if not connection.execute("select count(*) from schema_info").fetchall()[0][0]:
        connection.execute("insert into schema_info values (?)", [SCHEMA_VERSION])
    for table in TABLES:
        connection.execute(table.create_statement())
    connection.execute("commit")


def _has_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    import duckdb

    names = ("schema_info", *(table.name for table in TABLES))
    try:
        connection.execute(f"select 1 from {', '.join(names)} limit 0").fetchall()
    except duckdb.CatalogException:
        return False
    return True
