"""Which cases there are, which of them have other rows than when they were judged, and what judging them gave.

A case is a job of which an attempt failed, or stacks were taken (`case_scope`). It reads its own files and those of the
clusters that it may have used, around its time (`case_file`, `case_cluster`), so rows of other jobs and other times
cannot touch it. `case_input` keeps what each case was judged from, by the sum of its rows' hashes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiscorr import cache
from aiscorr.analysis.judge import Result, case_inputs, judge
from aiscorr.analysis.spec import ViewSpec, create_view, view_specs, views_key
from aiscorr.store.arrow_rows import GIVEN, arrow_rows
from aiscorr.store.database import DEFAULT_MEMORY_LIMIT

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

#: Judges cases, given by their jobs with their rows, and how many they are; gives the result of each, in any order.
Judging = Callable[["Iterable[tuple[str, dict[str, pa.Table]]]", int], Iterator[tuple[str, dict[str, Result]]]]
#: By job and input: the number of rows, and the sum of their hashes.
_Contents = dict[tuple[str, str], tuple[int, int]]

#: A table that judging itself writes to: it is read, but rows in it are no reason to judge again.
_WRITTEN = "failure_name"
_SCOPE = "join case_scope as s on s.job_id ="
_JOB = f"from {{table}} as r {_SCOPE} r.job_id"
_CLUSTER = f"from {{table}} as r join case_cluster as c on c.cluster = r.cluster {_SCOPE} c.job_id"
_FILE = f"from {{table}} as r join case_file as c on c.file_id = r.file_id {_SCOPE} c.job_id"
#: Columns that hold a moment of a row, with how many margins it may lie beside the job, and the moment in UTC: what has
#: only its own clock's may have to be corrected once more by the case.
_MOMENTS = {"utc_ns": (1, "r.utc_ns"), "local_ns": (2, "r.local_ns - k.shift_ns")}
_CLOCK = "join clock as k on k.file_id = r.file_id"
_NEAR = (
    "join threshold as m on m.name = 'case_margin_s' where (r.{moment} is null or s.since_ns is null or {utc}"
    " between s.since_ns - {count} * m.value * 1e9 and s.until_ns + {count} * m.value * 1e9)"
)
#: Values of counters are the most there is, and only those around the failure are compared.
_COUNTERS = (
    f"{_CLOCK} where (s.since_ns is null"
    " or r.local_ns - k.shift_ns between s.counters_since_ns and s.counters_until_ns)"
)
#: Part of a hash, so that a sum of them stays within 64 bits.
_HASH = "(hash(r) & 1099511627775)::bigint"
_HASH_COLUMN = "row_hash"


@dataclass(frozen=True)
class Part:
    """For a database that holds the rows of some cases only, and was made a moment ago.

    `jobs` are the cases that may be judged; `fill` puts what was kept of cases into its tables, which are there.
    """

    jobs: Callable[[duckdb.DuckDBPyConnection], Collection[str]]
    fill: Callable[[duckdb.DuckDBPyConnection], None]


@dataclass(frozen=True)
class _Input:
    """A table or view that cases read, and whether it may have rows.

    `rows`: SQL that joins its rows to the case that they concern (`s`); None where no column says whose they are.
    """

    schema: pa.Schema
    rows: str | None
    has_rows: bool

    def of_job(self, table: str) -> str:
        """A select of the rows that concern a job, which is given, each with a hash."""
        if self.rows is None:
            return f"select r.*, {_HASH} as {_HASH_COLUMN} from {table} as r where {GIVEN} is not null"
        return f"select r.*, {_HASH} as {_HASH_COLUMN} {self.rows} and s.job_id = {GIVEN}"

    def sums(self, table: str) -> str:
        """A select of each job with the number of its rows and the sum of their hashes."""
        if self.rows is None:
            return f"select s.job_id, count(*), sum({_HASH}) from {table} as r, case_scope as s group by s.job_id"
        return f"select s.job_id, count(*), sum({_HASH}) {self.rows} group by s.job_id"

    def none(self) -> pa.Table:
        """No rows, with a column for their hashes."""
        import pyarrow as pa

        return self.schema.append(pa.field(_HASH_COLUMN, pa.int64())).empty_table()


def _rows_of(columns: Collection[str], table: str) -> str | None:
    """How the rows of an input belong to a case, by the names of its columns."""
    moment = next((name for name in _MOMENTS if name in columns), None)
    near = "where true"
    if moment:
        count, utc = _MOMENTS[moment]
        near = (f"{_CLOCK} " if moment == "local_ns" else "") + _NEAR.format(moment=moment, count=count, utc=utc)
    if table == "counter_sample":
        near = _COUNTERS
    has_job, has_cluster, has_file = (name in columns for name in ("job_id", "cluster", "file_id"))
    if has_job and not (has_file and has_cluster):
        return f"{_JOB} where true".format(table=table)
    if has_cluster and not has_job:
        return f"{_CLUSTER} {near}".format(table=table)
    return f"{_FILE} {near}".format(table=table) if has_file else None


def judge_in_turn(
    cases: Iterable[tuple[str, dict[str, pa.Table]]],
    count: int,
    *,
    threads: int = 1,
    memory_limit: str = DEFAULT_MEMORY_LIMIT,
) -> Iterator[tuple[str, dict[str, Result]]]:
    """One case after the other, in this process."""
    for job, inputs in cases:
        yield job, judge(inputs, threads=threads, memory_limit=memory_limit)


def judge_cases(
    connection: duckdb.DuckDBPyConnection,
    changed: Collection[str] | None,
    judging: Judging = judge_in_turn,
    has_rows: Callable[[str], bool] = lambda name: True,
    tell: Callable[[int, int], None] = lambda done, count: None,
    part: Part | None = None,
) -> None:
    """Judges the cases whose rows are others than before, in the caller's transaction, and keeps what came of it.

    `changed`: the inputs that may have other rows than at the last time, None where nothing was judged before.
    `has_rows`: whether one may have any. `tell` is told how many cases are judged, of how many. `part`: what there is
    to know where the database holds a part.
    """
    is_first = changed is None
    if is_first:
        connection.execute("delete from case_input")
    inputs = _inputs(connection, has_rows)
    if part is not None:
        _make_tables(connection, _known_columns(connection, inputs))
        part.fill(connection)
        is_first, changed = False, tuple(inputs)
    wanted = None if part is None else part.jobs(connection)
    looked_at = {name: one for name, one in inputs.items() if changed and name in changed}
    jobs = [] if wanted is not None and not wanted else _stale_jobs(connection, looked_at)
    if wanted is not None:
        jobs = [job for job in jobs if job in wanted]
    if is_first and not jobs:
        _make_tables(connection, _known_columns(connection, inputs))
    _forget(connection, jobs, is_part=part is not None)
    tell(0, len(jobs))
    for done, (job, results) in enumerate(judging(_slices(connection, inputs, jobs), len(jobs)), start=1):
        tell(done, len(jobs))
        if is_first:
            _make_tables(connection, {name: result.columns for name, result in results.items()})
            is_first = False
        _keep_results(connection, job, results)


def inputs_of(connection: duckdb.DuckDBPyConnection, job: str) -> dict[str, pa.Table]:
    """The rows that the case of a job is judged from."""
    return _without_hashes(_slice(connection, _inputs(connection, lambda name: True), job, {}))


def rows_of_cases(connection: duckdb.DuckDBPyConnection, view: str) -> str:
    """What follows a select of the rows (r) of a computed view that concern cases (s): from, joins and conditions."""
    rows = _rows_of(connection.sql(f"from {view} limit 0").columns, view)
    return rows or f"from {view} as r, case_scope as s where true"


def _inputs(connection: duckdb.DuckDBPyConnection, has_rows: Callable[[str], bool]) -> dict[str, _Input]:
    """The inputs of cases; their columns are kept, as these differ only where the SQL does."""
    import pyarrow as pa

    def make() -> bytes:
        found = {name: connection.sql(f"from {name} limit 0").to_arrow_table().schema for name in case_inputs()}
        return json.dumps(
            {name: base64.b64encode(schema.serialize()).decode() for name, schema in found.items()}
        ).encode()

    def read(held: dict[str, str]) -> dict[str, pa.Schema]:
        return {name: pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))) for name, text in held.items()}

    schemas = cache.cached_json(f"schemas-{views_key()}.json", make, read)
    return {name: _Input(schema, _rows_of(schema.names, name), has_rows(name)) for name, schema in schemas.items()}


def _stale_jobs(connection: duckdb.DuckDBPyConnection, inputs: Mapping[str, _Input]) -> list[str]:
    """The jobs that were not judged yet, or have other rows in these inputs than they were judged from."""
    known: _Contents = {
        (job, name): (count, content)
        for job, name, count, content in connection.execute("from case_input").fetchall()
        if name in inputs and name != _WRITTEN
    }
    judged, jobs = _jobs_of(connection, "case_input"), _jobs_of(connection, "case_scope")
    stale = jobs - judged
    if judged:
        found: _Contents = {
            (job, name): (count, content)
            for name, one in inputs.items()
            if name != _WRITTEN
            for job, count, content in connection.execute(one.sums(name)).fetchall()
        }
        stale |= {job for job, name in known.keys() | found.keys() if known.get((job, name)) != found.get((job, name))}
    return sorted(stale & jobs)


def _slices(
    connection: duckdb.DuckDBPyConnection, inputs: Mapping[str, _Input], jobs: Iterable[str]
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """Each job with the rows that concern it; what they are is noted."""
    common: dict[str, pa.Table] = {}
    for job in jobs:
        found = _slice(connection, inputs, job, common)
        common.update((name, found[name]) for name, one in inputs.items() if one.rows is None)
        _note(connection, job, found)
        yield job, _without_hashes(found)


def _slice(
    connection: duckdb.DuckDBPyConnection, inputs: Mapping[str, _Input], job: str, common: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    """The rows of each input that concern a job, with their hashes; `common`: those that are known already."""
    found = {name: common[name] if name in common else one.none() for name, one in inputs.items()}
    for name, one in inputs.items():
        if one.has_rows and name not in common:
            found[name] = arrow_rows(connection, one.of_job(name), job)
    return found


def _without_hashes(found: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: rows.drop_columns([_HASH_COLUMN]) for name, rows in found.items()}


def _note(connection: duckdb.DuckDBPyConnection, job: str, found: Mapping[str, pa.Table]) -> None:
    """Keeps what a case is judged from, of which nothing is kept."""
    some = {name: rows for name, rows in found.items() if rows.num_rows}
    counts = [rows.num_rows for rows in some.values()]
    contents = [sum(rows[_HASH_COLUMN].to_pylist()) for rows in some.values()]
    connection.execute(
        "insert into case_input select ?, unnest(?::varchar[]), unnest(?::bigint[]), unnest(?::bigint[])",
        [job, list(some), counts, contents],
    )


def _kept() -> list[ViewSpec]:
    return [spec for spec in view_specs() if spec.is_kept]


def _known_columns(connection: duckdb.DuckDBPyConnection, inputs: Mapping[str, _Input]) -> dict[str, str]:
    """The columns of the kept views, where there is no case that shows them: a case without rows does."""

    def make() -> bytes:
        results = judge(_without_hashes(_slice(connection, inputs, "", {})))
        return json.dumps({name: result.columns for name, result in results.items()}).encode()

    return cache.cached_json(f"case-columns-{views_key()}.json", make, dict)


def _make_tables(connection: duckdb.DuckDBPyConnection, columns: Mapping[str, str]) -> None:
    for spec in _kept():
        table = f"{spec.stored_name} (case_job_id varchar, {columns[spec.name]})"
        connection.execute(f"create or replace table {table}")
        create_view(connection, spec, f"select * exclude (case_job_id) from {spec.stored_name}")


def _keep_results(connection: duckdb.DuckDBPyConnection, job: str, results: Mapping[str, Result]) -> None:
    """Keeps the rows of a case, of which nothing is kept."""
    for spec in _kept():
        rows = results[spec.name].rows
        if rows.num_rows:
            connection.register("given", rows)
            connection.execute(f"insert into {spec.stored_name} select ?, * from given", [job])
            connection.unregister("given")


def _forget(connection: duckdb.DuckDBPyConnection, jobs: Collection[str], *, is_part: bool) -> None:
    """Removes what is kept of jobs that are judged again, and of those that failed no more by what is known now.

    `is_part`: what is kept of others is not looked at, as they are not at hand.
    """
    judged = _jobs_of(connection, "case_input")
    gone = judged.intersection(jobs) | (set() if is_part else judged - _jobs_of(connection, "case_scope"))
    if gone:
        for table, column in (("case_input", "job_id"), *((spec.stored_name, "case_job_id") for spec in _kept())):
            connection.execute(f"delete from {table} where list_contains(?, {column})", [sorted(gone)])


def _jobs_of(connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    return {job for (job,) in connection.execute(f"select distinct job_id from {table}").fetchall()}
