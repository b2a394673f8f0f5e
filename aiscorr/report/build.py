"""Reads the views of one failure, or of all, into a report document. Says nothing that the views do not say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aiscorr import __version__
from aiscorr.report import document as doc
from aiscorr.report.decision_side import decision_side
from aiscorr.report.failure_choice import failure_ids
from aiscorr.report.overview import failures_since, read_overview
from aiscorr.report.picture_side import picture_side
from aiscorr.report.plain_records import all_of, plain_records
from aiscorr.report.without_failure import standing_apart, what_is_covered

if TYPE_CHECKING:
    import duckdb

_TIMELINE_WEIGHT = 2


def build_report(connection: duckdb.DuckDBPyConnection, which: str, now: datetime) -> doc.Report:
    """The report of `latest`, `all`, a failure id or a job id. Raises UsageError for a name that fits nothing."""
    failures = tuple(_failure(connection, failure_id) for failure_id in failure_ids(connection, which))
    apart = standing_apart(connection) if which in ("latest", "all") else ()
    covered = None if failures else what_is_covered(connection)
    others = (
        all_of(connection, doc.OtherFailure, _OTHER, failures[0].failure_id) if failures and which == "latest" else ()
    )
    return doc.Report(doc.SCHEMA, now.astimezone(UTC), __version__, failures, apart, covered, others)


def read_apart(
    report: doc.Report, opened: Callable[[str], AbstractContextManager[duckdb.DuckDBPyConnection]], now: datetime
) -> doc.Report:
    """The report with each failure read again where all rows of its job are, which `opened` opens."""
    found: list[doc.FailureReport] = []
    for one in report.failures:
        with opened(one.job_id) as connection:
            found += build_report(connection, one.failure_id, now).failures
    return replace(report, failures=tuple(found))


def build_report_since(connection: duckdb.DuckDBPyConnection, since: datetime, now: datetime) -> doc.Report:
    """The report of all failures of a time, with what they have in common."""
    wanted = failures_since(connection, since)
    failures = tuple(_failure(connection, one) for one in failure_ids(connection, "all") if one in wanted)
    overview, apart = read_overview(connection, since, now), standing_apart(connection)
    return doc.Report(doc.SCHEMA, now.astimezone(UTC), __version__, failures, apart, overview=overview)


def _failure(connection: duckdb.DuckDBPyConnection, failure_id: str) -> doc.FailureReport:
    head = plain_records(connection, _HEAD, failure_id)[0]
    states = plain_records(connection, _RANK_FLAGS, failure_id)[0]
    collective = doc.Collective(**{name: head.pop(name) for name in _COLLECTIVE})
    return doc.FailureReport(
        **head,
        **states,
        collective=collective,
        job=all_of(connection, doc.JobDetails, _JOB, failure_id)[0],
        ais_versions=all_of(connection, doc.AisVersion, _VERSION, failure_id),
        ais_nodes=all_of(connection, doc.ResponsibleNode, _NODE, failure_id),
        chains=_chains(connection, failure_id),
        timeline=all_of(connection, doc.TimelineItem, _TIMELINE, failure_id),
        root_causes=_root_causes(connection, failure_id),
        asked_for=all_of(connection, doc.AskedFor, _ASKED_FOR, failure_id),
        ruled_out=all_of(connection, doc.RuledOut, _RULED_OUT, failure_id),
        not_judged=all_of(connection, doc.RuledOut, _NOT_JUDGED, failure_id),
        key_files=all_of(connection, doc.KeyFile, _KEY_FILE, failure_id),
        counter_deltas=all_of(connection, doc.CounterDelta, _COUNTER, failure_id),
        error_sides=all_of(connection, doc.ErrorSide, _SIDE, failure_id),
        recommendations=all_of(connection, doc.Recommendation, _RECOMMENDATION, failure_id),
        blind=all_of(connection, doc.BlindSpot, _BLIND, failure_id),
        changed=all_of(connection, doc.Change, _CHANGE, failure_id),
        ranks=all_of(connection, doc.RankLine, _RANK, failure_id),
        triage=all_of(connection, doc.TriageLine, _TRIAGE, failure_id),
        worker_files=all_of(connection, doc.WorkerFile, _WORKER_FILE, failure_id),
        clocks=all_of(connection, doc.ClockLine, _CLOCK, failure_id),
        rules=all_of(connection, doc.RuleState, _RULE, failure_id),
        **decision_side(connection, failure_id),
        **picture_side(connection, failure_id),
    )


def _chains(connection: duckdb.DuckDBPyConnection, failure_id: str) -> tuple[doc.Chain, ...]:
    steps: dict[str, list[doc.ChainStep]] = {}
    for record in plain_records(connection, _STEP, failure_id):
        steps.setdefault(record.pop("chain_id"), []).append(doc.ChainStep(**record))
    requests: dict[str, list[doc.ChainRequest]] = {}
    for record in plain_records(connection, _REQUEST, failure_id):
        requests.setdefault(record.pop("chain_id"), []).append(doc.ChainRequest(**record))
    return tuple(
        doc.Chain(
            **record,
            requests=tuple(requests.get(record["chain_id"], ())),
            steps=tuple(steps.get(record["chain_id"], ())),
        )
        for record in plain_records(connection, _CHAIN, failure_id)
    )


def _root_causes(connection: duckdb.DuckDBPyConnection, failure_id: str) -> tuple[doc.RootCause, ...]:
    cited: dict[tuple[int, str], list[doc.CitedLine]] = {}
    for record in plain_records(connection, _EVIDENCE, failure_id):
        key = (record.pop("place"), record.pop("kind"))
        cited.setdefault(key, []).append(doc.CitedLine(**record))
    terms: dict[int, list[doc.Term]] = {}
    for record in plain_records(connection, _TERM, failure_id):
        terms.setdefault(record.pop("place"), []).append(doc.Term(**record))
    causes = []
    for record in plain_records(connection, _CAUSE, failure_id):
        supports, against = (tuple(cited.get((record["place"], kind), ())) for kind in ("supports", "contradicts"))
        own = tuple(terms.get(record["place"], ()))
        causes.append(doc.RootCause(**record, supports=supports, contradicts=against, terms=own))
    return tuple(causes)


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
    first_error_at, first_error_at_is, ended_at, window_started_at, window_ended_at, culprit_ranks, process_group,
    seq_num, op_type, numel_in, numel_out, timeout_ms, ran_for_ms, user_location,
    (select coalesce(sum(rejects), 0) from failure_file as r where r.failure_id = f.failure_id)::integer as reject_count
from failure as f where failure_id = $id
"""
_OTHER = """
select failure_id, job_id, storage_verdict, statement
from failure where failure_id <> $id order by ended_at desc nulls last, failure_id desc
"""
_ASKED_FOR = """
select rank, bucket, object, url, endpoint, node_id, outcome, retry_count, first_at, path, line_no,
    is_inner_address, retry_endpoint
from culprit_request where failure_id = $id order by place limit 20
"""
_RANK_FLAGS = """
select
    coalesce(list(rank order by rank) filter (where is_initiator), []) as initiator_ranks,
    coalesce(list(rank order by rank) filter (where is_notified), []) as notified_ranks,
    coalesce(list(rank order by rank) filter (where is_absent), []) as absent_ranks
from rank_state where failure_id = $id
"""
_JOB = """
select j.framework, j.task, j.resumed_from, j.world_size,
    case when j.is_world_stated then 'stated' else 'at_least' end as world_size_is,
    j.rank_count, j.node_count, j.ranks_per_node, j.data_source, j.started_at,
    greatest(j.ended_at, f.ended_at) as ended_at, j.least_s, j.end_reason, coalesce(j.hosts, []) as hosts, j.attempt,
    coalesce(t.version, (t.release_no // 100)::varchar || '.' || (t.release_no % 100)::varchar
        || ' (inferred from line numbers)') as torch_release
from failure as f
join job as j on j.job_id = f.job_id and j.attempt = f.attempt
left join torch_release as t on t.job_id = f.job_id
where f.failure_id = $id
"""
_VERSION = """
select n.cluster, n.version, count(*) filter (where n.role = 'target') as target_count,
    count(*) filter (where n.role = 'proxy') as proxy_count, count(*) filter (where not n.has_log) as unread_count
from failure as f
join node as n on n.cluster = f.cluster
where f.failure_id = $id
group by n.cluster, n.version order by count(*) desc, n.version
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
    coalesce(s.text, s.message) as text, s.repeat_count as times, s.is_exact, s.last_at
from failure_chain as c
join get_batch_chain_step as s on s.chain_id = c.chain_id
left join ingested_file as f on f.file_id = s.file_id
where c.failure_id = $id order by c.position, s.step_no
"""
_REQUEST = """
select chain_id, wid, designated_node_id, rank, told_by, path, line_no
from broken_request where failure_id = $id
order by position, case told_by when 'wid' then 1 when 'count' then 2 else 3 end, is_retried, first_ns desc, wid
"""
_TIMELINE = f"""
select event_at as at, is_exact, source, node_id, rank, weight, text, path, line_no
from timeline where failure_id = $id
qualify weight <= greatest({_TIMELINE_WEIGHT}, min(weight) over ())
order by event_at, source, node_id, rank, file_id, line_no, weight, text
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
select place, finding as rule, failure_class, failure_kind, storage_verdict, node_id, rank, score, statement
from root_cause where failure_id = $id order by place
"""
_TERM = """
select r.place, o.term, o.strength, o.weight, o.why
from root_cause as r
join observation as o on o.failure_id = r.failure_id and o.rule = r.finding and o.term is not null
where r.failure_id = $id order by r.place, abs(o.weight) desc nulls last, o.term
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
    d.inside_least::double as inside_least, d.inside_most::double as inside_most,
    coalesce(d.is_after_complete, false) as is_after_complete, d.span_s::double as span_s
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
    select u.file_id, 'worker logs' as who, null as node_id
    from failure_file as u
    where u.failure_id = $id and u.kind = 'worker_log'
    union all
    select u.file_id, 'AIStore logs' as who, a.node_id
    from failure_file as u
    join ais_file as a on a.file_id = u.file_id
    where u.failure_id = $id and u.kind = 'ais_log'
),
grouped as (
    select u.who, k.method, k.timezone, coalesce(k.zone_offset_s, 0) as offset_s,
        min(k.confidence)::double as confidence, count(*)::integer as file_count,
        arg_max(k.evidence, (k.evidence is not null, k.confidence, -k.file_id)) as evidence,
        arg_max(k.path, (k.evidence is not null, k.confidence, -k.file_id)) as path,
        arg_max(k.line_no, (k.evidence is not null, k.confidence, -k.file_id)) as line_no,
        bool_or(n.file_id is not null) as is_untold,
        coalesce(u.who = 'worker logs' and bool_and(i.date_method = 'mtime'
            and k.file_id not in (select file_id from clock_year)), false) as is_year_guessed,
        coalesce(list(distinct u.node_id order by u.node_id) filter (where u.node_id is not null), []) as node_ids
    from used as u
    join clock as k on k.file_id = u.file_id
    join ingested_file as i on i.file_id = u.file_id
    left join untold_clock as n on n.file_id = k.file_id
    group by u.who, k.method, k.timezone, coalesce(k.zone_offset_s, 0)
),
elsewhere as (
    select g.evidence, min(i.path) as path, arg_min(e.line_no, (i.path, e.line_no)) as line_no
    from grouped as g
    join ais_event as e on e.text = g.evidence
    join ingested_file as i on i.file_id = e.file_id
    where g.line_no is null
    group by g.evidence
)
select g.who, g.method, g.timezone, g.offset_s, g.confidence, g.file_count, g.evidence,
    coalesce(o.path, g.path) as path, coalesce(g.line_no, o.line_no) as line_no, g.is_untold, g.is_year_guessed,
    g.node_ids
from grouped as g
left join elsewhere as o on o.evidence = g.evidence and g.line_no is null
order by g.who desc, g.file_count desc, g.method, g.timezone, g.offset_s, g.path
"""
_RULE = """
select finding, state, failure_class, statement from finding where failure_id = $id
order by case state when 'fired' then 1 when 'blind' then 2 else 3 end, score desc, finding
"""
