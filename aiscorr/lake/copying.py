"""Moves a database from a file into a lake, from a lake into a file, and from one lake into another.

A copy holds everything: files, rows, results, names of failures, conclusions, runs, archives, patterns. Rows go from
table to table, some files at a time. A lake gets them in one transaction with its ledger, a file is published whole.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiscorr.analysis.cases import Part
from aiscorr.analysis.conclusions import name_failures
from aiscorr.analysis.refresh import are_views_current, refresh_alone
from aiscorr.analysis.spec import views_key
from aiscorr.errors import DatabaseBusyError, DatabaseError, UsageError
from aiscorr.lake.address import Lake
from aiscorr.lake.catalogue import attach, detach, explained
from aiscorr.lake.ledger import Ledger, ledger
from aiscorr.lake.push import (
    case_rows,
    insert_files,
    make_result_tables,
    note,
    push_endpoints,
    push_range,
    put_cases,
    put_note,
    take_turn,
)
from aiscorr.lake.shape import CASES, CLUSTER, DAY, ENDPOINTS, LAKE, NOTES, WHOLE_TABLES, kept_views
from aiscorr.lake.site import attached, make, sweep
from aiscorr.schema.analysis import CASE_INPUT
from aiscorr.schema.tables import ARCHIVE_SEEN, FILE_TABLES, INGESTED_FILE, PATTERN_INFO, Table
from aiscorr.store import load
from aiscorr.store.copies import copy_at_rest
from aiscorr.store.database import (
    DEFAULT_MEMORY_LIMIT,
    check_there,
    in_memory,
    interruptible,
    reading_newest,
    scratch,
    writing,
)

if TYPE_CHECKING:
    import duckdb

    from aiscorr.store.working_copy import WorkingCopy

#: The name of a lake that is read while another is written.
_ORIGIN = "origin"
#: Rows of so many events and counters, or of one file that has more, are copied at a time.
_MANY_ROWS = 2_000_000
_MANY_JOBS = 50
_WAIT_S = 600.0
_COPIED: tuple[Table, ...] = (INGESTED_FILE, *FILE_TABLES, *WHOLE_TABLES)
_HOLDS = "the copy would go where something is already"
_Archives = list[tuple[str, int, int, str, int]]


@dataclass(frozen=True)
class Limits:
    """What a copy may take of this machine, and where it says what it does."""

    memory_limit: str = DEFAULT_MEMORY_LIMIT
    threads: int = 1
    say: Callable[[str], None] = lambda text: None


@dataclass(frozen=True)
class Copied:
    """How much was copied."""

    file_count: int
    row_count: int
    case_count: int


@dataclass(frozen=True)
class _Origin:
    """A database that is open to be read: what its tables are behind, and the archives that were read to their end."""

    name: str
    connection: duckdb.DuckDBPyConnection
    prefix: str
    archives: _Archives


def copy_database(source: str | Lake, target: str | Lake, limits: Limits) -> Copied:
    """Copies a file or lake into a lake or file that holds nothing. Raises UsageError and DatabaseError."""
    if isinstance(target, Lake):
        with ledger(target) as book:
            _refuse_filled(book)
            with _lake_to_read(source, limits) if isinstance(source, Lake) else _file_to_read(source, limits) as origin:
                return _into_lake(origin, book, limits)
    if isinstance(source, Lake):
        return _into_file(source, target, limits)
    raise UsageError(
        "one of the two is a lake: a file is copied as any file is", where=target, try_this=f"cp {source} {target}"
    )


@contextlib.contextmanager
def _file_to_read(path: str, limits: Limits) -> Iterator[_Origin]:
    """A database file; where its results are of another version, a copy of it whose are not."""
    check_there(path)
    with tempfile.TemporaryDirectory(prefix="aiscorr-copy-") as folder:
        with reading_newest(path, memory_limit=limits.memory_limit, threads=limits.threads) as connection:
            if are_views_current(connection):
                connection.execute(f"set temp_directory = '{folder}'")
                yield _file_origin(path, connection)
                return
        limits.say("the results in this file were made by another version of aiscorr or DuckDB, and are made again")
        with _renewed(path, os.path.join(folder, "renewed.duckdb"), limits) as copy:
            yield _file_origin(path, copy.connection)


def _file_origin(path: str, connection: duckdb.DuckDBPyConnection) -> _Origin:
    (name,) = connection.execute("select current_database()").fetchall()[0]
    rows = connection.execute(f"select {', '.join(ARCHIVE_SEEN.column_names)} from archive_seen").fetchall()
    return _Origin(path, connection, name, rows)


@contextlib.contextmanager
def _renewed(path: str, copy: str, limits: Limits) -> Iterator[WorkingCopy]:
    if not copy_at_rest(path, copy):
        raise DatabaseBusyError("another program has the database open to write", where=path, try_this="close it")
    with scratch(copy, memory_limit=limits.memory_limit, threads=limits.threads) as working:
        refresh_alone(working, name_failures, threads=limits.threads)
        yield working


@contextlib.contextmanager
def _lake_to_read(lake: Lake, limits: Limits) -> Iterator[_Origin]:
    with (
        ledger(lake) as book,
        tempfile.TemporaryDirectory(prefix="aiscorr-copy-") as folder,
        contextlib.closing(in_memory(limits.memory_limit, limits.threads)) as connection,
        interruptible(),
    ):
        connection.execute(f"set temp_directory = '{folder}'")
        archives, snapshot = _seen(book)
        with attached(connection, book, snapshot=snapshot, name=_ORIGIN):
            yield _Origin(lake.name, connection, _ORIGIN, _not_stale(connection, _ORIGIN, archives))


def _seen(book: Ledger) -> tuple[_Archives, int | None]:
    """The archives of a lake and its snapshot, in which they are."""
    if book.data_path() is None:
        return [], None
    return (book.all_archives() if book.is_made() else []), book.snapshot()


def _not_stale(connection: duckdb.DuckDBPyConnection, prefix: str, archives: _Archives) -> _Archives:
    """The archives none of whose members is to be read again."""
    rows = connection.execute(
        f"select distinct split_part(path, '!', 1) from {prefix}.ingested_file where modified_ns is null"
    ).fetchall()
    stale = {row[0] for row in rows}
    return [one for one in archives if one[0] not in stale]


def _refuse_filled(book: Ledger) -> None:
    """Raises UsageError for a lake that holds anything, DatabaseError for one of another version."""
    if (data := book.data_path()) is None:
        return
    with contextlib.closing(in_memory()) as connection:
        attach(connection, book.lake, data, snapshot=book.snapshot())
        with explained(book.lake):
            sql = "select table_name from duckdb_tables() where database_name = ?"
            tables = connection.execute(sql, [LAKE]).fetchall()
            if tables and ((NOTES,) not in tables or _holds_anything(connection)):
                raise UsageError(_HOLDS, where=book.lake.name, try_this="name another database of PostgreSQL")


def _holds_anything(connection: duckdb.DuckDBPyConnection) -> bool:
    names = (f"{LAKE}.{INGESTED_FILE.name}", f"{LAKE}.ingest_log")
    return any(connection.execute(f"select 1 from {name} limit 1").fetchall() for name in names)


def _into_lake(origin: _Origin, book: Ledger, limits: Limits) -> Copied:
    """Claims, commits, confirms as an ingest does; the batch is the last run, so both are in the lake or neither."""
    connection = origin.connection
    (last,) = connection.execute(f"select max(run_id) from {origin.prefix}.ingest_log").fetchall()[0]
    if last is None:
        raise UsageError(
            "there is nothing in this database to be copied", where=origin.name, try_this="aiscorr ingest PATH…"
        )
    make(book)
    with book.committing(_WAIT_S), attached(connection, book):
        sweep(connection, book)
        _refuse_filled(book)
        book.claim_copy(last, _contents(origin))
        connection.execute("begin")
        take_turn(connection)
        if origin.prefix == _ORIGIN:
            _lake_rows(connection, limits)
        else:
            _file_rows(connection, origin.prefix, limits)
        copied = _checked(connection, origin.prefix, LAKE, book.lake.name)
        connection.execute("commit")
        book.confirm(last, load.each_known_file(connection, f"{origin.prefix}.ingested_file"), (), origin.archives)
    return copied


def _contents(origin: _Origin) -> Iterator[tuple[str, int]]:
    found = origin.connection.execute(
        f"select content_hash, file_id from {origin.prefix}.ingested_file where state = 'ingested' and byte_count > 0"
        " order by file_id"
    )
    while rows := found.fetchmany(10_000):
        yield from rows


def _file_rows(connection: duckdb.DuckDBPyConnection, prefix: str, limits: Limits) -> None:
    """All of a database file, which is the current database."""
    insert_files(connection)
    for low, high in _ranges(connection, prefix, limits):
        push_range(connection, low, high)
    push_endpoints(connection)
    for table in WHOLE_TABLES:
        _insert(connection, table, prefix, LAKE)
    if key := load.patterns_key(connection):
        put_note(connection, "patterns", key)
    jobs = [row[0] for row in connection.execute("select distinct job_id from case_scope order by 1").fetchall()]
    make_result_tables(connection)
    for begin in range(0, len(jobs), _MANY_JOBS):
        put_cases(connection, (), case_rows(connection, jobs[begin : begin + _MANY_JOBS]))


def _lake_rows(connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
    """All of the lake that is the origin."""
    connection.execute(f"insert into {LAKE}.ingested_file from {_ORIGIN}.ingested_file order by file_id")
    for low, high in _ranges(connection, _ORIGIN, limits):
        for table in FILE_TABLES:
            line = ", line_no" if "line_no" in table.column_names else ""
            connection.execute(
                f"insert into {LAKE}.{table.name} from {_ORIGIN}.{table.name}"
                f" where file_id between {low} and {high} order by {CLUSTER}, {DAY}, file_id{line}"
            )
    for table in (*WHOLE_TABLES, CASE_INPUT):
        _insert(connection, table, _ORIGIN, LAKE)
    for name in (CASES, ENDPOINTS):
        connection.execute(f"insert into {LAKE}.{name} from {_ORIGIN}.{name}")
    connection.execute(f"delete from {LAKE}.{NOTES}")
    connection.execute(f"insert into {LAKE}.{NOTES} from {_ORIGIN}.{NOTES}")
    found = "select table_name from duckdb_tables() where database_name = ? order by 1"
    own = {row[0] for row in connection.execute(found, [LAKE]).fetchall()}
    for (name,) in connection.execute(found, [_ORIGIN]).fetchall():
        if name not in own:
            connection.execute(f"create table {LAKE}.{name} as from {_ORIGIN}.{name}")


def _into_file(lake: Lake, path: str, limits: Limits) -> Copied:
    """Fills a file, computes its views, and publishes it with what the cases of the lake gave."""
    refusal = UsageError(_HOLDS, where=path, try_this="name a file that is not there yet")
    if os.path.exists(path):
        raise refusal
    with (
        ledger(lake) as book,
        writing(path, memory_limit=limits.memory_limit, threads=limits.threads) as copy,
    ):
        if copy.connection.execute("select 1 from ingest_log limit 1").fetchall():
            raise refusal
        archives, snapshot = _seen(book)
        with attached(copy.connection, book, snapshot=snapshot):
            is_current = note(copy.connection, "views") == views_key()
            _pull_all(copy.connection, archives, limits)
            copied = _checked(copy.connection, LAKE, "aiscorr_file", path)
        if not is_current:
            limits.say("the results in this lake were made by another version of aiscorr or DuckDB, and are made again")
        part = Part(lambda connection: (), _filler(book, snapshot)) if is_current else None
        refresh_alone(copy, name_failures, threads=limits.threads, part=part)
        with contextlib.suppress(Exception):
            detach(copy.connection)
        return copied


def _pull_all(connection: duckdb.DuckDBPyConnection, archives: _Archives, limits: Limits) -> None:
    names = ", ".join(INGESTED_FILE.column_names)
    connection.execute(f"insert into ingested_file ({names}) select {names} from {LAKE}.ingested_file order by file_id")
    for low, high in _ranges(connection, LAKE, limits):
        for table in FILE_TABLES:
            names = ", ".join(table.column_names)
            line = ", line_no" if "line_no" in table.column_names else ""
            connection.execute(
                f"insert into {table.name} ({names}) select {names} from {LAKE}.{table.name}"
                f" where file_id between {low} and {high} order by file_id{line}"
            )
    for table in WHOLE_TABLES:
        _insert(connection, table, LAKE, "main")
    for archive in _not_stale(connection, LAKE, archives):
        connection.execute("insert into archive_seen values (?, ?, ?, ?, ?)", list(archive))
    key = (note(connection, "patterns") or "").replace("'", "''")
    connection.execute(f"comment on table {PATTERN_INFO.name} is '{key}'")


def _filler(book: Ledger, snapshot: int | None) -> Callable[[duckdb.DuckDBPyConnection], None]:
    """Puts into a file what the cases of a lake gave; attaches it, as the file may have been opened again since."""

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        attach(connection, book.lake, book.data_path() or "", snapshot=snapshot)
        with explained(book.lake):
            _insert(connection, CASE_INPUT, LAKE, "main")
            for spec in kept_views():
                connection.execute(f"insert into {spec.stored_name} from {LAKE}.{spec.stored_name}")

    return fill


def _ranges(connection: duckdb.DuckDBPyConnection, prefix: str, limits: Limits) -> list[tuple[int, int]]:
    """Files from one number to another that together have not many rows, with word of each that follows."""
    rows = connection.execute(
        f"select min(file_id), max(file_id) from (select file_id,"
        f"  sum(coalesce(event_count + counter_count, 0)) over (order by file_id) // {_MANY_ROWS} as part"
        f"  from {prefix}.ingested_file) group by part order by 1"
    ).fetchall()
    if len(rows) > 1:
        limits.say(f"copying the rows of {rows[-1][1]:,} files in {len(rows)} parts")
    return rows


def _insert(connection: duckdb.DuckDBPyConnection, table: Table, source: str, target: str) -> None:
    names = ", ".join(table.column_names)
    connection.execute(f"insert into {target}.{table.name} ({names}) select {names} from {source}.{table.name}")


def _checked(connection: duckdb.DuckDBPyConnection, source: str, target: str, where: str) -> Copied:
    """How much was copied. Raises DatabaseError unless the copy has as many rows as the origin, table by table."""
    counts = {}
    for table in _COPIED:
        sql = f"select (select count(*) from {source}.{table.name}), (select count(*) from {target}.{table.name})"
        there, here = connection.execute(sql).fetchall()[0]
        if there != here:
            raise DatabaseError(
                f"the copy of {table.name} has {here:,} rows and not {there:,}, so nothing of it is kept",
                where=where, try_this="report this: it is an error of aiscorr",
            )  # fmt: skip
        counts[table.name] = here
    cases = connection.execute(f"select count(distinct job_id) from {source}.{CASE_INPUT.name}").fetchall()[0][0]
    return Copied(counts[INGESTED_FILE.name], sum(counts[table.name] for table in FILE_TABLES), cases)
