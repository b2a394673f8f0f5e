"""The stored tables of what a live cluster said of itself, node_status and records of pull; listed in tables.py."""

from __future__ import annotations

from aiscorr.schema.table import Table, columns

_NODE = (
    ("file_id", "INTEGER", "the file, as in source_file"),
    ("line_no", "BIGINT", "line of the record, from 1; 1 in a saved answer"),
    ("cluster", "VARCHAR", "cluster given by the user, else the Smap's id, else null"),
    ("node_id", "VARCHAR", "AIStore daemon id"),
    ("node_role", "VARCHAR", "target or proxy"),
)

NODE_SNAPSHOT = Table(
    "node_snapshot",
    "what a node answered to node_status, or, in a record of pull, that the Smap lists it",
    columns(
        *_NODE,
        ("sampled_ns", "BIGINT", "when it was asked, by its own clock where it answered, UTC, nanoseconds"),
        ("is_answered", "BOOLEAN", "it answered; else only what the Smap says is here"),
        ("up_ns", "BIGINT", "how long the daemon had been running, nanoseconds"),
        ("version", "VARCHAR", "AIStore version"),
        ("pod", "VARCHAR", "Kubernetes pod"),
        ("smap_version", "BIGINT", "version of the cluster map it held"),
        ("public_endpoint", "VARCHAR", "host:port for clients"),
        ("control_endpoint", "VARCHAR", "host:port for control between nodes"),
        ("data_endpoint", "VARCHAR", "host:port for data between nodes"),
        ("used_pct", "DOUBLE", "space used on its fullest mountpath, percent"),
        ("memory_used_pct", "DOUBLE", "memory the daemon used, percent of the host's"),
        ("load_1m", "DOUBLE", "load average of its host over one minute"),
    ),
)

NODE_SNAPSHOT_COUNTER = Table(
    "node_snapshot_counter",
    "the value of one counter in a node_status answer, where .ns and .bps are cumulative too",
    columns(
        ("file_id", "INTEGER", "the file, as in source_file"),
        ("line_no", "BIGINT", "line of the record, from 1; 1 in a saved answer"),
        ("node_id", "VARCHAR", "AIStore daemon id"),
        ("name", "VARCHAR", "counter as the tracker names it, err.getbatch.n"),
        ("value", "BIGINT", "count, bytes or nanoseconds since the daemon started, or a state"),
    ),
)

PULL_MISS = Table(
    "pull_miss",
    "a part of a node that a pull could not fetch",
    columns(
        *_NODE,
        ("tried_ns", "BIGINT", "when, UTC, nanoseconds"),
        ("part", "VARCHAR", "all, node_status, info log or error log"),
        ("reason", "VARCHAR", "why, in words"),
    ),
)
