"""Of which clusters new rows may need the storage logs of a lake, so that a slice leaves out all the others.

What the view `case_cluster` would say in a database of everything is among them: clusters that a new worker log names
by a request, a node or an address, those whose logs lie beside it, and those of new storage logs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from aiscorr.lake.shape import CLUSTER, DAY, ENDPOINTS, LAKE
from aiscorr.model import FileSummary

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_LAST_NAME = re.compile(r"[/!][^/!]*$")
#: As the threshold beside_levels of sql/facts.
_BESIDE_LEVELS = 2
_BESIDE = (
    "len(list_filter(range(1, least(len(o.parts), len(f.parts)) + 1), lambda i: o.parts[1:i] = f.parts[1:i]))"
    f" >= greatest(len(o.parts) - {_BESIDE_LEVELS}, 2)"
)
#: By owner, clusters that it names by node or address, that served its requests, and beside whose logs its own lie.
_FOUND = f"""
with folder as (
    select distinct {CLUSTER} as cluster, string_split(regexp_replace(path, '[/!][^/!]*$', ''), '/') as parts
    from {LAKE}.ingested_file where kind = 'ais_log'
)
select n.owner, f.{CLUSTER} from new_name as n join {LAKE}.ingested_file as f on f.node_id = n.node_id
    where f.kind = 'ais_log'
union
select n.owner, e.cluster from new_name as n join {LAKE}.{ENDPOINTS} as e on e.endpoint = n.endpoint
union
select n.owner, a.{CLUSTER} from {LAKE}.ais_line as a join new_name as n on n.wid = a.wid
    where a.wid is not null and a.{DAY} between make_timestamp_ns($low)::date and make_timestamp_ns($high)::date
union
select o.owner, f.cluster from new_owner as o join folder as f on {_BESIDE}
"""


def clusters_of_new(
    connection: duckdb.DuckDBPyConnection, read: Collection[FileSummary], parts: Iterable[tuple[str, str]],
    ids: Mapping[int, int], span_ns: tuple[int, int],
) -> tuple[str, ...] | None:  # fmt: skip
    """The clusters, None for all: a job that names none may have used any of its time, `span_ns`.

    `parts`: the Arrow files of new rows by table, in which files have provisional ids; `ids`: their final ones.
    """
    owners = {s.file_id: _owner(s) for s in read if s.kind != "ais_log" or not s.cluster}
    known = {s.cluster for s in read if s.kind == "ais_log" and s.cluster}
    if not owners:
        return tuple(sorted(known))
    folders = {(_owner(s), folder_of(s)) for s in read if s.file_id in owners}
    if _has_variables(path for table, path in parts if table == "stack_frame"):
        return None
    nodes = {(owners[s.file_id], None, s.node_id, None) for s in read if s.file_id in owners and s.node_id}
    names = _names([path for table, path in parts if table == "worker_line"], ids, owners) | nodes
    _fill(connection, "new_owner (owner varchar, folder varchar)", folders)
    connection.execute("alter table new_owner add column parts varchar[]")
    connection.execute("update new_owner set parts = string_split(folder, '/')")
    _fill(connection, "new_name (owner varchar, wid varchar, node_id varchar, endpoint varchar)", names)
    found = connection.execute(_FOUND, {"low": span_ns[0], "high": span_ns[1]}).fetchall()
    told = {owner for owner, _ in found} | {owner for owner, folder in folders if _is_beside(folder, read)}
    if any(owners[s.file_id] not in told for s in read if s.kind != "ais_log"):
        return None
    return tuple(sorted(known | {cluster for _, cluster in found}))


def _owner(summary: FileSummary) -> str:
    """What stands for the job of a file; files of one job may have several."""
    if summary.kind == "ais_log":
        return f"storage {summary.ref.path}"
    return f"job {summary.job_id or folder_of(summary)}"


def folder_of(summary: FileSummary) -> str:
    """The folder that stands for the job of a file, as the view `worker_file` has it, or that of a storage log."""
    return summary.job_folder or _LAST_NAME.sub("", summary.ref.path)


def _is_beside(folder: str, read: Collection[FileSummary]) -> bool:
    """Whether new storage logs that name their cluster lie beside a folder."""
    parts = folder.split("/")
    least = max(len(parts) - _BESIDE_LEVELS, 2)
    return any(folder_of(s).split("/")[:least] == parts[:least] for s in read if s.kind == "ais_log" and s.cluster)


def _names(
    paths: Iterable[str], ids: Mapping[int, int], owners: Mapping[int, str]
) -> set[tuple[str, str | None, str | None, str | None]]:
    """Owner with each request, node and address that lines of it name."""
    found: set[tuple[str, str | None, str | None, str | None]] = set()
    for batch in _batches(paths):
        columns = (batch.column(name).to_pylist() for name in ("file_id", "wid", "node_id", "endpoint"))
        found.update(
            (owners[ids[file_id]], *names)
            for file_id, *names in zip(*columns, strict=True)
            if any(names) and ids.get(file_id) in owners
        )
    return found


def _has_variables(paths: Iterable[str]) -> bool:
    """Whether stacks hold the values of variables, which may name a cluster in many ways."""
    return any(batch.column("locals").null_count < batch.num_rows for batch in _batches(paths))


def _batches(paths: Iterable[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for path in paths:
        with pa.memory_map(path) as file:
            rows = pa.ipc.open_file(file)
            for number in range(rows.num_record_batches):
                yield rows.get_batch(number)


def _fill(connection: duckdb.DuckDBPyConnection, table: str, rows: Collection[tuple[str | None, ...]]) -> None:
    connection.execute(f"create or replace temporary table {table}")
    if rows:
        columns = [list(column) for column in zip(*sorted(rows, key=repr), strict=True)]
        selected = ", ".join("unnest(?::varchar[])" for _ in columns)
        connection.execute(f"insert into {table.partition(' ')[0]} select {selected}", columns)
