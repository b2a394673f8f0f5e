"""Writes a healthy month of many storage nodes into a lake, day by day, as the rows that ingest makes of their logs.

The SQL beside this module says what the rows are. A day is one transaction of the lake and one batch of the ledger, as
a night's ingest is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb

from aiscorr import __version__
from aiscorr.lake.address import Lake
from aiscorr.lake.ledger import Ledger, ledger
from aiscorr.lake.shape import LAKE
from aiscorr.lake.site import attached, make
from aiscorr.parse.file_reader import PARSER_VERSION
from aiscorr.store.database import in_memory
from aiscorr.store.load import known_files
from benchmarks.speed.ais_corpus import COUNTERS, DISK

_FOLDER = Path(__file__).parent / "month"
#: What a healthy node says: one line in the order of the day.
LINES = _FOLDER / "line.csv"
_TABLES = ("ais_line", "stats_line", "counter_sample", "clock_mark")
COUNTER_NAMES = sorted({*COUNTERS, *(f"disk.nvme0n1.{name}" for name in DISK)})


@dataclass(frozen=True)
class Site:
    """How large the site is, and what a node writes a day; the first cluster may have a name of its own."""

    node_count: int = 1000
    cluster_count: int = 25
    stats_count: int = 200
    line_count: int = 100
    first_cluster: str | None = None

    @property
    def rows_a_day(self) -> int:
        """Rows of base tables that a day has."""
        a_node = 1 + self.line_count + 2 + self.stats_count * (1 + len(COUNTER_NAMES)) + 1
        return self.node_count * a_node


def write_days(lake: Lake, site: Site, days: Sequence[date]) -> int:
    """Adds days to the lake, which is made where it is missing; returns how many rows they have."""
    with ledger(lake) as book:
        make(book)
        with contextlib.closing(in_memory("6GB")) as connection, attached(connection, book):
            _make_lists(connection, site)
            for day in days:
                _write_day(connection, book, site, day)
    return len(days) * site.rows_a_day


def _make_lists(connection: duckdb.DuckDBPyConnection, site: Site) -> None:
    """The nodes, what they say, and their counters."""
    size = -(-site.node_count // site.cluster_count)
    _run(
        connection, "node",
        {"cluster_size": size, "node_count": site.node_count, "first_cluster": site.first_cluster},
    )  # fmt: skip
    connection.execute(
        "create or replace temporary table month_line as"
        " select row_number() over () - 1 as line_no, * from read_csv(?, all_varchar = true, nullstr = '')",
        [str(LINES)],
    )
    connection.execute("create or replace temporary table month_counter as select unnest(?) as name", [COUNTER_NAMES])


def _write_day(connection: duckdb.DuckDBPyConnection, book: Ledger, site: Site, day: date) -> None:
    """A day of all nodes: claimed, committed, confirmed."""
    values: dict[str, object] = {
        "first_file_id": book.next_file_id(), "day": day.isoformat(), "stats_count": site.stats_count,
        "line_count": site.line_count, "counter_count": len(COUNTER_NAMES), "options_key": "{}",
        "parser_version": PARSER_VERSION,
    }  # fmt: skip
    _run(connection, "month_file", values)
    batch = book.claim(connection.execute("select content_hash, file_id from month_file order by 1").fetchall(), [])
    connection.execute("update month_file set run_id = ?", [batch])
    connection.execute("begin")
    connection.execute(f"insert into {LAKE}.ingested_file by name from month_file order by file_id")
    for table in _TABLES:
        _run(connection, table, values)
    now = datetime.now(UTC).replace(tzinfo=None)
    connection.execute(
        f"insert into {LAKE}.ingest_log by name select ? as run_id, ?::timestamp_ns as started_at,"
        " ?::timestamp_ns as ended_at, 'ok' as outcome, ? as file_count, ? as new_file_count, ? as event_count,"
        " 0 as reject_count, ? as aiscorr_version",
        [batch, now, now, site.node_count, site.node_count, site.rows_a_day, __version__],
    )
    connection.execute("commit")
    book.confirm(batch, known_files(connection, "month_file").values())


def _run(connection: duckdb.DuckDBPyConnection, name: str, values: dict[str, object]) -> None:
    """Runs a statement of the folder beside this module, with those of the values that it names."""
    sql = (_FOLDER / f"{name}.sql").read_text("utf-8")
    connection.execute(sql, {key: value for key, value in values.items() if f"${key}" in sql})
