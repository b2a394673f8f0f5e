"""Reads the views of one failure, or of all, into a report document. Says nothing that the views do not say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from aiscorr import __version__
from aiscorr.errors import UsageError
from aiscorr.report import document as doc
from aiscorr.store.records import records

if TYPE_CHECKING:
    import duckdb

_T = TypeVar("_T")
_Cited = TypeVar("_Cited", doc.CitedLine, doc.ChainStep)
_TIMELINE_WEIGHT = 2


def build_report(connection: duckdb.DuckDBPyConnection, which: str, now: datetime) -> doc.Report:
    """The report of `latest`, `all`, a failure id or a job id. Raises UsageError for a name that fits nothing."""
    failures = tuple(_failure(connection, failure_id) for failure_id in failure_ids(connection, which))
    apart = _all(connection, doc.StandingApart, _APART, None) if which in ("latest", "all") else ()
    covered = None if failures else _covered(connection)
    return doc.Report(doc.SCHEMA, now.astimezone(UTC), __version__, failures, apart, covered)


def failure_ids(connection: duckdb.DuckDBPyConnection, which: str) -> list[str]:
    """The ids that `latest`, `all`, a failure id, its beginning or a job id stand for; the newest first."""
    rows = connection.execute(
        "select failure_id, job_id from failure order by ended_at desc nulls last, failure_id desc"
    ).fetchall()
    if which == "latest":
        return [row[0] for row in rows[:1]]
    if which == "all":
        return [row[0] for row in rows]
    found = [row[0] for row in rows if row[0] == which] or [row[0] for row in rows if row[1] == which]
    found = found or [row[0] for row in rows if row[0].startswith(which)]
    if not found:
        raise _unknown(connection, which, [row[0] for row in rows])
    return found


def _unknown(connection: duckdb.DuckDBPyConnection, which: str, failure_ids: list[str]) -> UsageError:
    """What to say of a name that fits no failure: perhaps it is a job that had none."""
    job = connection.execute("select max(end_reason) from job where job_id = $id having count(*) > 0", {"id": which})
    ended = job.fetchone()
    if ended is not None:
        how = "had not ended when its logs end" if ended[0] == "end_of_logs" else ended[0]
        tell = "aiscorr report   # without a name: what was looked at, and jobs that may hang"
        said = f"job {which!r} is known and no failure of it is: it {how}"
        return UsageError(said, where="the database", try_this=tell)
    known = "one of: " + ", ".join(failure_ids[:8])
    if len(failure_ids) > 8:
        known += f" and {len(failure_ids) - 8} more (`aiscorr query 'select failure_id from failure'`)"
    if not failure_ids:
        known = "aiscorr ingest PATH…: no failure is known so far"
    return UsageError(f"no failure is called {which!r}", where="the database", try_this=known)


def _covered(connection: duckdb.DuckDBPyConnection) -> doc.Covered:
    jobs = _all(connection, doc.CoveredJob, _COVERED_JOB, None)
    faults = _all(connection, doc.CoveredFault, _COVERED_FAULT, None)
    (seen,) = _records(connection, _COVERED_NODE, None)
    return doc.Covered(jobs=jobs, faults=faults, **seen)


def _records(connection: duckdb.DuckDBPyConnection, sql: str, failure_id: str | None) -> list[dict[str, Any]]:
    found = records(connection, sql, None if failure_id is None else {"id": failure_id})
    return [{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()} for row in found]


def _all(connection: duckdb.DuckDBPyConnection, kind: type[_T], sql: str, failure_id: str | None) -> tuple[_T, ...]:
    return tuple(kind(**record) for record in _records(connection, sql, failure_id))


def _failure(connection: duckdb.DuckDBPyConnection, failure_id: str) -> doc.FailureReport:
    head = _records(connection, _HEAD, failure_id)[0]
    ranks = _all(connection, doc.RankLine, _RANK, failure_id)
    states = _records(connection, _RANK_FLAGS, failure_id)[0]
    collective = doc.Collective(**{name: head.pop(name) for name in _COLLECTIVE})
    return doc.FailureReport(
        **head,
        **states,
        collective=collective,
        job=_all(connection, doc.JobDetails, _JOB, failure_id)[0],
        ais_nodes=_all(connection, doc.ResponsibleNode, _NODE, failure_id),
        chains=_chains(connection, failure_id),
        timeline=_all(connection, doc.TimelineItem, _TIMELINE, failure_id),
        root_causes=_root_causes(connection, failure_id),
        ruled_out=_all(connection, doc.RuledOut, _RULED_OUT, failure_id),
        not_judged=_all(connection, doc.RuledOut, _NOT_JUDGED, failure_id),
        key_files=_all(connection, doc.KeyFile, _KEY_FILE, failure_id),
        counter_deltas=_all(connection, doc.CounterDelta, _COUNTER, failure_id),
        error_sides=_all(connection, doc.ErrorSide, _SIDE, failure_id),
        recommendations=_all(connection, doc.Recommendation, _RECOMMENDATION, failure_id),
        blind=_all(connection, doc.BlindSpot, _BLIND, failure_id),
        changed=_all(connection, doc.Change, _CHANGE, failure_id),
        ranks=ranks,
        triage=_all(connection, doc.TriageLine, _TRIAGE, failure_id),
        worker_files=_all(connection, doc.WorkerFile, _WORKER_FILE, failure_id),
        clocks=_all(connection, doc.ClockLine, _CLOCK, failure_id),
        rules=_all(connection, doc.RuleState, _RULE, failure_id),
    )


def _chains(connection: duckdb.DuckDBPyConnection, failure_id: str) -> tuple[doc.Chain, ...]:
    steps: dict[str, list[doc.ChainStep]] = {}
    for record in _records(connection, _STEP, failure_id):
        steps.setdefault(record.pop("chain_id"), []).append(doc.ChainStep(**record))
    requests: dict[str, list[doc.ChainRequest]] = {}
    for record in _records(connection, _REQUEST, failure_id):
        requests.setdefault(record.pop("chain_id"), []).append(doc.ChainRequest(**record))
    return tuple(
        doc.Chain(
            **record,
            requests=tuple(requests.get(record["chain_id"], ())),
            steps=tuple(steps.get(record["chain_id"], ())),
        )
        for record in _records(connection, _CHAIN, failure_id)
    )


def _root_causes(connection: duckdb.DuckDBPyConnection, failure_id: str) -> tuple[doc.RootCause, ...]:
    cited: dict[tuple[int, str], list[doc.CitedLine]] = {}
    for record in _records(connection, _EVIDENCE, failure_id):
        key = (record.pop("place"), record.pop("kind"))
        cited.setdefault(key, []).append(doc.CitedLine(**record))
    causes = []
    for record in _records(connection, _CAUSE, failure_id):
        supports, against = (tuple(cited.get((record["place"], kind), ())) for kind in ("supports", "contradicts"))
        causes.append(doc.RootCause(**record, supports=supports, contradicts=against))
    return tuple(causes)


def with_checks(report: doc.Report, checks: dict[tuple[str, int | str], str]) -> doc.Report:
    """The report with what reading the cited lines again gave, by path and line number."""

    def checked(items: tuple[_Cited, ...]) -> tuple[_Cited, ...]:
        return tuple(replace(item, check=checks.get(item.key)) for item in items)

    def one(failure: doc.FailureReport) -> doc.FailureReport:
        causes = tuple(
            replace(cause, supports=checked(cause.supports), contradicts=checked(cause.contradicts))
            for cause in failure.root_causes
        )
        chains = tuple(replace(chain, steps=checked(chain.steps)) for chain in failure.chains)
        return replace(failure, root_causes=causes, chains=chains)

    return replace(report, failures=tuple(map(one, report.failures)))


_COLLECTIVE = (
    "process_group",
    "seq_num",
    "op_type",
    "numel_in",
    "numel_out",
    "timeout_ms",
    "ran_for_ms",
    "user_location",
)

_HEAD = """
select failure_id, job_id, failure_class, failure_kind, storage_verdict, confidence, statement, hang_started_at,
    first_error_at, ended_at, window_started_at, window_ended_at, culprit_ranks, process_group, seq_num, op_type,
    numel_in, numel_out, timeout_ms, ran_for_ms, user_location,
    (select count(*) from reject as r where r.job_id = f.job_id or r.cluster = f.cluster)::integer as reject_count
from failure as f where failure_id = $id
"""
_RANK_FLAGS = """
select
    coalesce(list(rank order by rank) filter (where is_initiator), []) as initiator_ranks,
    coalesce(list(rank order by rank) filter (where is_notified), []) as notified_ranks,
    coalesce(list(rank order by rank) filter (where is_absent), []) as absent_ranks
from rank_state where failure_id = $id
"""
_JOB = """
select j.framework, j.task, j.resumed_from, j.world_size, j.rank_count, j.node_count, j.ranks_per_node, j.data_source,
    j.started_at, j.ended_at, j.end_reason, coalesce(j.hosts, []) as hosts, j.attempt,
    coalesce(t.version, (t.release_no // 100)::varchar || '.' || (t.release_no % 100)::varchar
        || ' (told from line numbers)') as torch_release
from failure as f
join job as j on j.job_id = f.job_id and j.attempt = f.attempt
left join torch_release as t on t.job_id = f.job_id
where f.failure_id = $id
"""
_NODE = "select node_id, role, host, why from failure_node where failure_id = $id order by position, node_id"
_CHAIN = """
select c.chain_id, g.xid, coalesce(g.wids, []) as wids, c.ranks, c.match_kind, c.is_verdict,
    g.designated_node_id, g.suspect_node_id
from failure_chain as c
join get_batch_chain as g on g.chain_id = c.chain_id
where c.failure_id = $id order by c.position
"""
_STEP = """
select s.chain_id, s.step, s.event_at as at, s.node_id, s.wid, f.path, s.line_no,
    coalesce(s.text, s.message) as text, s.repeat_count as times, s.is_exact
from failure_chain as c
join get_batch_chain_step as s on s.chain_id = c.chain_id
left join ingested_file as f on f.file_id = s.file_id
where c.failure_id = $id order by c.position, s.step_no
"""
_REQUEST = """
select c.chain_id, q.wid, q.designated_node_id, any_value(r.rank order by r.rank) as rank
from failure_chain as c
join get_batch_chain as g on g.chain_id = c.chain_id
join chain_request as q on q.cluster = g.cluster and q.root_key = g.root_key
left join rank_request as r on r.failure_id = c.failure_id and r.wid = q.wid
where c.failure_id = $id
group by c.chain_id, c.position, q.wid, q.designated_node_id, q.first_ns
order by c.position, max(r.rank) is null, bool_or(r.outcome = 'retry'), q.first_ns desc, q.wid
"""
_TIMELINE = f"""
select event_at as at, is_exact, source, node_id, rank, weight, text, path, line_no
from timeline where failure_id = $id and weight <= {_TIMELINE_WEIGHT}
order by event_at, weight, source, node_id, rank, file_id, line_no, text
"""
_EVIDENCE = """
with placed as (
    select file_id, line_no, min(event_at) as event_at
    from timeline where failure_id = $id and not is_exact and source = 'worker'
    group by file_id, line_no
)
select e.place, e.kind, e.path, e.line_no, e.locator, coalesce(p.event_at, e.event_at) as at, e.latest_at,
    e.text, e.why, p.event_at is not null as is_estimate
from evidence as e
left join placed as p on p.file_id = e.file_id and p.line_no = e.line_no
where e.failure_id = $id order by e.place, e.kind, e.event_at, e.path, e.line_no, e.why
"""
_CAUSE = """
select place, failure_class, failure_kind, storage_verdict, node_id, rank, score, statement
from root_cause where failure_id = $id order by place
"""
_RULED_OUT = (
    "select what, because, path, line_no from ruled_out where failure_id = $id order by position, path, line_no, what"
)
_NOT_JUDGED = """
select s.what, s.because, i.path, s.line_no
from node_suspicion as s left join ingested_file as i on i.file_id = s.file_id
where s.failure_id = $id and s.is_open order by i.path, s.line_no, s.what
"""
_KEY_FILE = """
select path, why from key_file where failure_id = $id order by position, evidence_count desc, line_count desc, path
"""
_COUNTER = """
select d.node_id, d.node_role as role, d.counter, d.before, d.inside, d.after, d.inside_per_s, d.ratio, d.is_complete,
    d.is_error, d.meaning, f.path, d.line_no,
    d.inside_least::double as inside_least, d.inside_most::double as inside_most
from failure_counter_delta as d
left join ingested_file as f on f.file_id = d.file_id
where d.failure_id = $id and (d.is_error
    or d.counter in ('get.n', 'put.n', 'getbatch.n', 'getbatch.obj.n',
    'getbatch.gfn.n', 'getbatch.rxwait.ns', 'getbatch.throttle.ns'))
order by d.is_error desc, d.inside desc, d.counter, d.node_id
"""
_SIDE = """
select counter, side, coalesce(proxy_before, 0) + coalesce(target_before, 0) as before,
    coalesce(proxy_inside, 0) + coalesce(target_inside, 0) as inside, top_node_id, top_share_ratio, top_error_ratio,
    inside_least::double as inside_least, inside_most::double as inside_most
from failure_error_side where failure_id = $id order by inside desc, counter
"""
_RECOMMENDATION = 'select "to", text, why from recommendation where failure_id = $id order by position, "to", text'
_BLIND = "select what, why, command from blind_spot where failure_id = $id order by position, what"
_CHANGE = """
select field, was, "is" as is_, because, changed_at from conclusion_change
where failure_id = $id order by run_id desc, field
"""
_RANK = """
select r.rank, r.role, r.host, r.last_enqueued, r.last_completed, r.activity, r.activity_detail,
    r.last_seen_at, f.path, r.line_no
from rank_state as r
left join ingested_file as f on f.file_id = r.file_id
where r.failure_id = $id order by r.rank
"""
_TRIAGE = """
select tier, pattern, any_value(title) as title, any_value(role) as role, sum(t.line_count)::integer as line_count,
    coalesce(list_sort(list(distinct t.rank) filter (where t.rank is not null)), []) as ranks,
    count(distinct t.file_id)::integer as file_count, max(t.top_retry) as top_retry, max(t.retry_limit) as retry_limit,
    arg_min(t.path, (t.file_id, t.line_no)) as path, arg_min(t.line_no, (t.file_id, t.line_no)) as line_no
from triage as t
join failure as f on f.job_id = t.job_id and f.attempt = t.attempt
where f.failure_id = $id and t.role <> 'noise'
group by tier, pattern
order by case any_value(t.role) when 'cause' then 1 when 'retry' then 2 when 'symptom' then 3 else 4 end,
    min(t.first_at), pattern
"""
_WORKER_FILE = """
select w.path, w.ranks, w.reset_count, w.retry_count, w.top_retry, w.retry_limit, w.error_count
from worker_file_triage as w
join failure as f on f.job_id = w.job_id
where f.failure_id = $id order by w.worker_node_no, w.path
"""
_CLOCK = """
with used as (
    select k.file_id, 'worker logs' as who
    from failure as f
    join worker_file as w on w.job_id = f.job_id and w.kind = 'worker_log'
    join clock as k on k.file_id = w.file_id
    where f.failure_id = $id
    union all
    select a.file_id, 'AIStore logs' as who
    from failure as f
    join ais_file as a on a.cluster = f.cluster
    join source_file as s on s.file_id = a.file_id
    where f.failure_id = $id and s.first_at <= f.window_ended_at + interval 1 day
        and s.last_at >= f.window_started_at - interval 1 day
)
select u.who, k.method, k.timezone, coalesce(k.zone_offset_s, 0) as offset_s, min(k.confidence)::double as confidence,
    count(*)::integer as file_count,
    arg_max(k.evidence, (k.evidence is not null, k.confidence)) as evidence,
    arg_max(k.path, (k.evidence is not null, k.confidence)) as path,
    arg_max(k.line_no, (k.evidence is not null, k.confidence)) as line_no
from used as u
join clock as k on k.file_id = u.file_id
group by u.who, k.method, k.timezone, coalesce(k.zone_offset_s, 0)
order by u.who desc, file_count desc, k.method, k.timezone
"""
_RULE = """
select finding, state, failure_class, statement from finding where failure_id = $id
order by case state when 'fired' then 1 when 'blind' then 2 else 3 end, score desc, finding
"""

_COVERED_JOB = """
select job_id, attempt, rank_count, world_size, started_at, ended_at, end_reason
from job order by started_at, job_id, attempt
"""
_FAULT_WORDS = """coalesce(n.role || ' ', '') || n.node_id || ' ' || k.broke_words
            || strftime(n.started_at::timestamp, ' at %Y-%m-%d %H:%M:%S UTC')"""
_COVERED_NODE = f"""
select
    coalesce((select list(distinct node_id order by node_id) from node where has_log), []) as node_ids,
    (select count(*) from node_fault where weight >= 0.5)::integer as fault_count,
    (
        select arg_max({_FAULT_WORDS}, (n.weight, -n.started_ns, n.node_id))
        from node_fault as n join fault_kind as k on k.fault_kind = n.fault_kind where n.weight >= 0.5
    ) as worst_fault,
    (select count(*) from get_batch_chain where wid_count > 0)::integer as broken_chain_count,
    (select coalesce(sum(wid_count), 0) from get_batch_chain)::integer as broken_request_count
"""
_COVERED_FAULT = f"""
select statement, path, line_no
from (
    select {_FAULT_WORDS} as statement,
        i.path, n.line_no, n.started_ns, n.node_id, n.weight
    from node_fault as n
    join fault_kind as k on k.fault_kind = n.fault_kind
    left join ingested_file as i on i.file_id = n.file_id
    where n.weight >= 0.5
    order by n.weight desc, n.started_ns, n.node_id, k.fault_kind limit 8
)
order by started_ns, node_id, statement
"""
_APART = """
select job_id, ranks, is_still, is_moved, statement, path, line_no
from standing_apart
order by is_still desc, is_moved, job_id, class_no
"""
