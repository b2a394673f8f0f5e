"""What PostgreSQL keeps beside the catalogue of a lake: which contents are in it, and who writes now.

DuckLake (1.5) has no unique keys, so what keeps a line from being stored twice is here: a content has one row. An
ingest claims its contents, commits to the lake, and confirms. What was claimed and not confirmed is looked up in the
lake by the next that writes: a batch that is there is confirmed, one that is not gives its contents back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiscorr.errors import AiscorrError, DatabaseBusyError
from aiscorr.lake.address import Lake
from aiscorr.lake.catalogue import explained
from aiscorr.model import KnownFile
from aiscorr.schema.tables import FILE_TABLES

if TYPE_CHECKING:
    import psycopg

#: Of the lock that one committer holds as long as its connection lives, and of that of who makes a lake.
_LOCK = 0x6169_7363_6F72_72
MAKING = _LOCK + 1
_POLL_S = 0.2
_CONNECT_S = 10
#: Of a machine that is gone PostgreSQL hears within a minute, and gives its lock to the next.
_ALIVE = {"tcp_keepalives_idle": 20, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 4}
_TABLES = """
create table if not exists aiscorr_batch (
    batch bigint generated always as identity primary key,
    state text not null,
    host text not null,
    pid integer not null,
    begun_at timestamptz not null default now());
create table if not exists aiscorr_content (
    content_hash text primary key,
    file_id integer not null,
    batch bigint not null);
create index if not exists aiscorr_content_batch on aiscorr_content (batch);
create table if not exists aiscorr_file (
    path text primary key,
    outer_path text not null,
    file_id integer not null unique,
    duplicate_of integer,
    known jsonb not null);
create table if not exists aiscorr_archive (
    path text primary key,
    stored_byte_count bigint not null,
    modified_ns bigint not null,
    options_key text not null,
    parser_version integer not null);
create index if not exists aiscorr_file_outer on aiscorr_file (outer_path);
create index if not exists aiscorr_file_copy on aiscorr_file (duplicate_of);
"""


class Ledger:
    """The ledger of one lake, over one connection to PostgreSQL."""

    def __init__(self, lake: Lake, connection: psycopg.Connection[Any]) -> None:
        self.lake = lake
        self._connection = connection

    def is_made(self) -> bool:
        """Whether its tables are there."""
        sql = "select to_regclass('aiscorr_file') is not null and to_regclass('aiscorr_batch') is not null"
        return bool(self._rows(sql)[0][0])

    def make(self) -> None:
        """Makes the tables where they are missing."""
        self._run(_TABLES)

    @contextlib.contextmanager
    def committing(self, wait_s: float, lock: int = _LOCK) -> Iterator[None]:
        """Lets one process at a time into the block. Raises DatabaseBusyError where another stays in it."""
        end = time.monotonic() + wait_s
        while not self._rows("select pg_try_advisory_lock(%s)", [lock])[0][0]:
            if time.monotonic() > end:
                raise DatabaseBusyError(
                    f"another ingest is writing the lake{self._holder()}", where=self.lake.name,
                    try_this="wait for it to end, then run this again",
                )  # fmt: skip
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            with contextlib.suppress(AiscorrError):
                self._run("select pg_advisory_unlock(%s)", [lock])

    def _holder(self) -> str:
        rows = self._rows("select host, pid from aiscorr_batch where state = 'claimed' order by batch desc limit 1")
        return f" (process {rows[0][1]} on {rows[0][0]})" if rows else ""

    def data_path(self) -> str | None:
        """Where the Parquet of the lake is; None where no lake is yet."""
        if not self._rows("select to_regclass('ducklake_metadata') is not null")[0][0]:
            return None
        rows = self._rows("select value from ducklake_metadata where key = 'data_path'")
        return str(rows[0][0]) if rows else None

    def has_table(self, name: str) -> bool:
        """Whether the lake, which is there, has a table."""
        return bool(self._rows("select 1 from ducklake_table where table_name = %s and end_snapshot is null", [name]))

    def snapshot(self) -> int:
        """The newest snapshot of the lake."""
        return self.newest()[0]

    def newest(self) -> tuple[int, datetime]:
        """The newest snapshot of the lake, and its time in UTC."""
        sql = "select snapshot_id, snapshot_time at time zone 'UTC' from ducklake_snapshot order by 1 desc limit 1"
        number, taken_at = self._rows(sql)[0]
        return int(number), taken_at.replace(tzinfo=UTC)

    def sizes(self) -> tuple[int, dict[str, int]]:
        """The bytes of the lake's Parquet, and how many rows each table has."""
        (size,) = self._rows(
            "select coalesce(sum(file_size_bytes), 0)::bigint from (select file_size_bytes from ducklake_data_file"
            " union all select file_size_bytes from ducklake_delete_file) as f"
        )[0]
        rows = self._rows(
            "select t.table_name, (coalesce((select sum(record_count) from ducklake_data_file as f"
            "  where f.table_id = t.table_id and f.end_snapshot is null), 0)"
            " - coalesce((select sum(delete_count) from ducklake_delete_file as d"
            "  where d.table_id = t.table_id and d.end_snapshot is null), 0))::bigint"
            " from ducklake_table as t where t.end_snapshot is null order by 1"
        )
        return int(size), dict(rows)

    def row_count(self, snapshot: int) -> int:
        """How many rows of logs a snapshot of the lake holds, by what DuckLake notes of its files."""
        there = "{0}.begin_snapshot <= %(at)s and ({0}.end_snapshot is null or {0}.end_snapshot > %(at)s)"
        rows = self._rows(
            "select coalesce(sum(f.record_count - coalesce(d.delete_count, 0)), 0) from ducklake_table as t"
            f" join ducklake_data_file as f on f.table_id = t.table_id and {there.format('f')}"
            f" left join ducklake_delete_file as d on d.data_file_id = f.data_file_id and {there.format('d')}"
            f" where t.table_name = any(%(names)s) and {there.format('t')}",
            {"at": snapshot, "names": [table.name for table in FILE_TABLES]},
        )
        return int(rows[0][0])

    def known(self, paths: Collection[str]) -> dict[str, KnownFile]:
        """What the lake holds of these files, and of the members of these archives, by path."""
        return self._known("select known from aiscorr_file where outer_path = any(%s)", [list(paths)])

    def archives(self, paths: Collection[str]) -> dict[str, tuple[int, int, str, int]]:
        """Size, time, options and parser of those of the archives that were read to their end, by path."""
        sql = "select path, stored_byte_count, modified_ns, options_key, parser_version from aiscorr_archive"
        return {row[0]: row[1:] for row in self._rows(f"{sql} where path = any(%s)", [list(paths)])}

    def known_contents(self, hashes: Collection[str]) -> dict[str, KnownFile]:
        """The files that are stored with these contents, by path."""
        sql = (
            "select f.known from aiscorr_content as c join aiscorr_file as f on f.file_id = c.file_id"
            " where c.content_hash = any(%s)"
        )
        return self._known(sql, [list(hashes)])

    def _known(self, sql: str, values: list[Any]) -> dict[str, KnownFile]:
        found = (KnownFile(**row[0]) for row in self._rows(sql, values))
        return {one.path: one for one in found}

    def next_file_id(self) -> int:
        """The first number that no file has."""
        return int(self._rows("select coalesce(max(file_id), 0) + 1 from aiscorr_file")[0][0])

    def claim(self, contents: Iterable[tuple[str, int]], released: Collection[int]) -> int:
        """A new batch that claims these contents (hash and file); `released`: files whose old contents go.

        Raises DatabaseBusyError where a content was stored meanwhile.
        """
        import psycopg

        rows = list(contents)
        with explained(self.lake):
            try:
                with self._connection.transaction(), self._connection.cursor() as cursor:
                    found = cursor.execute(
                        "insert into aiscorr_batch (state, host, pid) values ('claimed', %s, %s) returning batch",
                        [socket.gethostname(), os.getpid()],
                    ).fetchall()
                    cursor.execute("delete from aiscorr_content where file_id = any(%s)", [list(released)])
                    cursor.execute(
                        "insert into aiscorr_content select unnest(%s::text[]), unnest(%s::integer[]), %s",
                        [[row[0] for row in rows], [row[1] for row in rows], found[0][0]],
                    )
            except psycopg.errors.UniqueViolation:
                raise DatabaseBusyError(
                    "another ingest has just stored some of the same files", where=self.lake.name,
                    try_this="run this again: what is stored is not read twice",
                ) from None  # fmt: skip
        return int(found[0][0])

    def claim_copy(self, batch: int, contents: Iterable[tuple[str, int]]) -> None:
        """Claims for a copy of another database, into a lake that holds nothing; later batches have higher numbers."""
        with explained(self.lake), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(
                "insert into aiscorr_batch (batch, state, host, pid) overriding system value"
                " values (%s, 'claimed', %s, %s) on conflict (batch) do update"
                " set state = excluded.state, host = excluded.host, pid = excluded.pid",
                [batch, socket.gethostname(), os.getpid()],
            )
            cursor.execute(
                "select setval(pg_get_serial_sequence('aiscorr_batch', 'batch'), max(batch)) from aiscorr_batch"
            )
            cursor.executemany(
                f"insert into aiscorr_content values (%s, %s, {batch:d}) on conflict do nothing".encode(), contents
            )

    def is_empty(self) -> bool:
        """Whether it knows no file."""
        return not self._rows("select 1 from aiscorr_file limit 1")

    def all_archives(self) -> list[tuple[str, int, int, str, int]]:
        """Path, size, time, options and parser of the archives that were read to their end."""
        sql = "select path, stored_byte_count, modified_ns, options_key, parser_version from aiscorr_archive"
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self._rows(f"{sql} order by path")]

    def confirm(
        self, batch: int, files: Iterable[KnownFile], stale: Collection[int] = (),
        archives: Iterable[tuple[str, int, int, str, int]] = (),
    ) -> None:  # fmt: skip
        """The batch is in the lake. `stale`: files whose copies are to be read when they are seen next.

        `archives`: path, size, time, options and parser of those that were read to their end.
        """
        rows = (
            (f.path, f.path.partition("!")[0], f.file_id, f.duplicate_of, json.dumps(dataclasses.asdict(f)))
            for f in files
        )
        with explained(self.lake), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(
                "delete from aiscorr_archive as a where exists (select 1 from aiscorr_file as f"
                " where f.outer_path = a.path and f.path <> f.outer_path and f.duplicate_of = any(%s))",
                [list(stale)],
            )
            cursor.executemany(
                "insert into aiscorr_archive values (%s, %s, %s, %s, %s) on conflict (path) do update set"
                " stored_byte_count = excluded.stored_byte_count, modified_ns = excluded.modified_ns,"
                " options_key = excluded.options_key, parser_version = excluded.parser_version",
                archives,
            )
            cursor.execute(
                "update aiscorr_file set known = jsonb_set(known, '{modified_ns}', 'null')"
                " where duplicate_of = any(%s)",
                [list(stale)],
            )
            cursor.executemany(
                "insert into aiscorr_file values (%s, %s, %s, %s, %s) on conflict (path) do update set"
                " file_id = excluded.file_id, duplicate_of = excluded.duplicate_of, known = excluded.known",
                rows,
            )
            cursor.execute("update aiscorr_batch set state = 'confirmed' where batch = %s", [batch])

    def unconfirmed(self) -> list[int]:
        """Batches whose end nobody noted."""
        return [row[0] for row in self._rows("select batch from aiscorr_batch where state = 'claimed' order by batch")]

    def give_back(self, batch: int) -> None:
        """The batch is not in the lake: its contents are free, and those that it released are as before."""
        with explained(self.lake), self._connection.transaction():
            self._run("delete from aiscorr_content where batch = %s", [batch])
            self._run(
                "insert into aiscorr_content select known->>'content_hash', file_id, 0 from aiscorr_file"
                " where known->>'state' = 'ingested' and (known->>'byte_count')::bigint > 0 on conflict do nothing"
            )
            self._run("update aiscorr_batch set state = 'given back' where batch = %s", [batch])

    def _run(self, sql: str, values: list[Any] | None = None) -> None:
        with explained(self.lake):
            self._connection.execute(sql.encode(), values)

    def _rows(self, sql: str, values: list[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        with explained(self.lake):
            return list(self._connection.execute(sql.encode(), values).fetchall())


@contextlib.contextmanager
def ledger(lake: Lake) -> Iterator[Ledger]:
    """The ledger of a lake, as long as the block runs. Raises AiscorrError where PostgreSQL cannot be reached."""
    try:
        import psycopg
    except ImportError:
        raise AiscorrError(
            "a lake needs psycopg, which is not installed",
            where=lake.name,
            try_this="pip install -r requirements/lake.txt",
        ) from None
    with explained(lake):
        connection = psycopg.connect(
            lake.catalogue, autocommit=True, connect_timeout=_CONNECT_S, application_name="aiscorr"
        )
    with contextlib.closing(connection):
        with explained(lake):
            for name, value in _ALIVE.items():
                connection.execute(f"set {name} = {value}".encode())
        yield Ledger(lake, connection)
