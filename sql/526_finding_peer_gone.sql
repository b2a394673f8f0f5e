-- Several hosts lost their connection to one and the same host: that one was gone first.
-- grain: one row a failure
-- reads: failure_lead, nccl_host
-- case: yes
-- note: Who reports a lost connection is a witness, who is named by most is the one. It fires where
-- note: no rank is the culprit. A host whose own log ends before it is named, give or take seconds,
-- note: is surer than one that goes on writing; whether it died or was cut off its log cannot tell.
create or replace view finding_peer_gone as
with top as (
    select *,
        count(*) filter (where stop_no is not null)
            over (partition by job_id, attempt) as troubled_count
    from nccl_host
    where named_by > 0
    qualify named_by = max(named_by) over (partition by job_id, attempt)
        and count(*) over (partition by job_id, attempt, named_by) = 1
)
select
    f.failure_id,
    'peer_gone' as finding,
    case when t.job_id is null or t.named_by < 2 or f.culprit_rank is not null then 'quiet'
        when t.trouble_at is null or t.stop_no = 1 then 'fired' else 'quiet' end
        as state,
    'network' as failure_class,
    'host_lost' as failure_kind,
    'undetermined' as storage_verdict,
    t.named_by::varchar || ' hosts lost their connection to host ' || t.host
        || coalesce(' (' || t.ib_meaning || ')', '') || ', which '
        || case when t.trouble_at is null then 'says nothing itself' else 'stopped first' end
            as statement,
    [{'term': 'named', 'file_id': t.file_id, 'line_no': t.line_no,
        'why': 'the first line that names it, or its own first trouble'},
        {'term': case when t.trouble_at is not null then 'trouble'
            when t.last_ns < t.named_ns + 5000000000 then 'silent_since' end}] as supports
from failure_lead as f
left join top as t on t.job_id = f.job_id and t.attempt = f.attempt
