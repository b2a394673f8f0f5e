"""The stored tables of the analysis: what views were made from, what cases were judged from, what was concluded."""

from __future__ import annotations

from aiscorr.schema.table import Table
from aiscorr.schema.table import columns as _columns

FAILURE_NAME = Table(
    "failure_name",
    "the id of a failure, kept from the first ingest that saw it",
    _columns(
        ("job_id", "VARCHAR", "job"),
        ("attempt", "INTEGER", "attempt of the job"),
        ("failure_id", "VARCHAR", "id made of job, attempt and the failing moment"),
    ),
)

CONCLUSION = Table(
    "conclusion",
    "what the analysis concluded for a failure after an ingest run",
    _columns(
        ("run_id", "BIGINT", "ingest run"),
        ("failure_id", "VARCHAR", "failure"),
        ("concluded_at", "TIMESTAMP_NS", "when, UTC"),
        ("field", "VARCHAR", "failure_class, storage_verdict, culprit_ranks, ais_nodes or statement"),
        ("value", "VARCHAR", "the conclusion as text"),
        ("new_files", "VARCHAR", "what that run had read that was new, in words"),
    ),
)

VIEW_STATE = Table(
    "view_state",
    "what a view was made from last, and what it held",
    _columns(
        ("view", "VARCHAR", "the view"),
        ("definition", "VARCHAR", "SHA-256 of its SQL and of the version of DuckDB"),
        ("row_count", "BIGINT", "its rows where it is stored, else null"),
        ("content_hash", "VARCHAR", "sum of the hashes of its rows where it is stored, else null"),
    ),
)

CASE_INPUT = Table(
    "case_input",
    "the rows of an input that a case was judged from",
    _columns(
        ("job_id", "VARCHAR", "job of the case"),
        ("input", "VARCHAR", "the table or view"),
        ("row_count", "BIGINT", "rows of it that concern the case"),
        ("content_hash", "BIGINT", "sum of their hashes"),
    ),
)

CHANGED_TABLE = Table(
    "changed_table",
    "a stored table whose rows have changed since the views were computed",
    _columns(("table_name", "VARCHAR", "the table")),
)
