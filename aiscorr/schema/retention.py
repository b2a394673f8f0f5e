"""The stored tables of what was removed because it was old; they are listed in tables.py."""

from __future__ import annotations

from aiscorr.schema.table import Table, columns

ROW_REMOVAL = Table(
    "row_removal",
    "a span of a file's time whose rows of one table were removed because they were old",
    columns(
        ("file_id", "INTEGER", "the file, as in source_file"),
        ("table_name", "VARCHAR", "the stored table the rows stood in"),
        ("low_ns", "BIGINT", "time of the first of them by the file's own clock, nanoseconds; null: the whole file"),
        ("high_ns", "BIGINT", "one nanosecond after the last of them; null: the whole file"),
        ("row_count", "BIGINT", "rows removed"),
        ("removed_at", "TIMESTAMP_NS", "when they were removed last, UTC"),
    ),
)

RETENTION_LOG = Table(
    "retention_log",
    "what a run of the service removed of one kind because it was old",
    columns(
        ("removed_at", "TIMESTAMP_NS", "when, UTC"),
        ("kind", "VARCHAR", "counters, events or failures"),
        ("before_at", "TIMESTAMP_NS", "what is older than this was removed, UTC"),
        ("row_count", "BIGINT", "rows removed"),
        ("file_count", "BIGINT", "files whose rows they were"),
        ("aiscorr_version", "VARCHAR", "version of aiscorr"),
    ),
)
