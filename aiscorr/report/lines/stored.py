"""What the database knows of files and their lines: where they are, their clocks, and which lines are errors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiscorr.errors import UsageError
from aiscorr.query.formats import printable

if TYPE_CHECKING:
    import duckdb

_MANY = 8
#: Whose a line is that is of no node and no rank, as a launcher's.
NOBODY = "job"
#: Every stored line with a time of its own, in UTC, whether it is an error, and the rank it is of.
_LINES = """
with line as (
    select l.file_id, l.line_no, l.local_ns - c.shift_ns as utc_ns, l.severity = 'E' as is_error, null::integer as rank
    from ais_line as l join clock as c on c.file_id = l.file_id
    union all
    select w.file_id, w.line_no,
        case when w.stamp_source in ('own', 'wrapper')
            then w.local_ns - case when w.zone_offset_s is null then c.shift_ns else 0 end end as utc_ns,
        w.severity = 'error' as is_error, w.rank
    from worker_line as w join clock as c on c.file_id = w.file_id
)
"""


@dataclass(frozen=True)
class StoredFile:
    """A file that was ingested: whose it is, and what is subtracted from its times to get UTC."""

    file_id: int
    path: str
    kind: str
    who: str
    shift_ns: int
    first_ns: int | None


@dataclass(frozen=True)
class StoredLines:
    """Of one file's stored lines: their times, which are errors, and the rank of each that names one."""

    moments: dict[int, int]
    errors: frozenset[int]
    ranks: dict[int, int]


def file_called(connection: duckdb.DuckDBPyConnection | None, name: str) -> str:
    """The path of a file on disk, else of the one ingested file whose path ends so. Raises UsageError."""
    on_disk = name.partition("!")[0]
    if os.path.isfile(on_disk):
        return os.path.abspath(on_disk) + name[len(on_disk) :]
    rows = [] if connection is None else connection.execute(
        "select distinct path from ingested_file where path = $name or ends_with(path, '/' || $name)"
        " or ends_with(path, '!' || $name) order by path", {"name": name},
    ).fetchall()  # fmt: skip
    found = [str(row[0]) for row in rows]
    if len(found) == 1 or name in found:
        return name if name in found else found[0]
    if found:
        more = f" and {len(found) - _MANY} more" if len(found) > _MANY else ""
        shown = ", ".join(map(printable, found[:_MANY])) + more
        raise UsageError(f"{len(found)} files are called so", where=printable(name), try_this=f"one of: {shown}")
    raise UsageError(
        "no file is called so, here or in the database", where=printable(name), try_this="aiscorr query @files"
    )


def stored_file(connection: duckdb.DuckDBPyConnection, path: str) -> StoredFile | None:
    """The ingested file of that path."""
    return next(iter(_files(connection, "i.path = $path", {"path": path})), None)


def files_of(
    connection: duckdb.DuckDBPyConnection, job_id: str, cluster: str | None, first_ns: int, last_ns: int
) -> list[StoredFile]:
    """The worker logs of a job and the logs of its cluster that say something of a time, the fullest first."""
    return _files(
        connection,
        "i.state = 'ingested' and (i.kind = 'worker_log' and s.job_id = $job or i.kind = 'ais_log'"
        " and ($cluster is null or s.cluster = $cluster))"
        " and coalesce(epoch_ns(s.first_at) <= $last, true) and coalesce(epoch_ns(s.last_at) >= $first, true)",
        {"job": job_id, "cluster": cluster, "first": first_ns, "last": last_ns},
    )


def _files(connection: duckdb.DuckDBPyConnection, where: str, values: dict[str, object]) -> list[StoredFile]:
    rows = connection.execute(
        f"select i.file_id, i.path, i.kind, coalesce(i.node_id, 'rank ' || i.path_rank, '{NOBODY}'), c.shift_ns,"
        f" epoch_ns(s.first_at) from ingested_file as i join source_file as s on s.file_id = i.file_id"
        f" join clock as c on c.file_id = i.file_id where {where} order by i.kind, s.lines desc, i.path",
        values,
    ).fetchall()
    return [StoredFile(*row) for row in rows]


def line_span(
    connection: duckdb.DuckDBPyConnection, file_ids: list[int], first_ns: int, last_ns: int
) -> dict[int, tuple[int, int | None]]:
    """For each file the last stored line before a time, and the first one behind its end, if there is one."""
    rows = connection.execute(
        _LINES + "select file_id, coalesce(max(line_no) filter (where utc_ns < $first), 1),"
        " min(line_no) filter (where utc_ns > $last) from line where list_contains($files, file_id)"
        " and utc_ns is not null group by file_id",
        {"files": file_ids, "first": first_ns, "last": last_ns},
    ).fetchall()
    return {int(row[0]): (int(row[1]), None if row[2] is None else int(row[2])) for row in rows}


def stored_lines(connection: duckdb.DuckDBPyConnection, file_id: int, first: int, last: int | None) -> StoredLines:
    """The stored lines of a file between two numbers."""
    rows = connection.execute(
        _LINES + "select line_no, max(utc_ns), bool_or(is_error), max(rank) from line where file_id = $file"
        " and line_no >= $first and line_no <= coalesce($last, line_no) group by line_no",
        {"file": file_id, "first": first, "last": last},
    ).fetchall()
    return StoredLines(
        {int(row[0]): int(row[1]) for row in rows if row[1] is not None},
        frozenset(int(row[0]) for row in rows if row[2]),
        {int(row[0]): int(row[3]) for row in rows if row[3] is not None},
    )
