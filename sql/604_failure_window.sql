-- The span of time that belongs to a failure: from the first thing that led to it to the end of the job.
-- grain: one row a failure
-- reads: failure_case, root_cause, culprit_cause, rank_request, get_batch_chain, node_fault, storage_link, threshold
-- stored: yes
-- empty without: failure_case
-- note: At the latest it begins with the hang, at the earliest the collective's time-out and two minutes before the watchdog spoke. first_error_ns is the first error of the verdict's chain, node or rank; where the rank had tried to get the very object again and again (try_gap_s apart at most), the first of these tries failed first; a fault that was on longer has none of its own here, and an error without a stamp is not put before the moment the rank stopped keeping up.
create or replace view failure_window as
with cause as (
    select
        r.failure_id,
        min(c.started_ns) as chain_ns,
        min(n.started_ns) as fault_ns,
        min(n.sign_ns) as sign_ns
    from root_cause as r
    left join get_batch_chain as c on c.chain_id = r.chain_id
    left join storage_link as l on l.failure_id = r.failure_id and l.node_id = r.node_id and r.storage_verdict = 'guilty'
    left join node_fault as n on n.fault_id = l.fault_id
    where r.place = 1
    group by r.failure_id
),
attempt as (
    select
        u.failure_id, r.from_ns,
        coalesce(lead(r.from_ns) over (partition by u.failure_id, u.witness_rank order by r.from_ns, r.line_no), u.crash_latest_ns) - r.from_ns > (select value * 1e9 from threshold where name = 'try_gap_s') as is_apart
    from culprit_cause as u
    join rank_request as r on r.failure_id = u.failure_id and r.rank = u.witness_rank and r.outcome = 'retry' and r.object = u.object and r.from_ns <= u.crash_latest_ns
),
tried as (
    select failure_id, min(from_ns) as tried_ns
    from attempt as t
    where not exists (from attempt as o where o.failure_id = t.failure_id and o.from_ns >= t.from_ns and o.is_apart)
    group by failure_id
)
select
    f.failure_id,
    greatest(f.low_ns, least(f.stall_ns, f.hang_start_ns, c.chain_ns, c.fault_ns, t.tried_ns, f.spoke_ns)) as started_ns,
    greatest(f.ended_ns, f.spoke_ns) as ended_ns,
    least(
        case when c.sign_ns >= f.low_ns then c.sign_ns end,
        case when t.tried_ns >= f.low_ns then t.tried_ns end,
        case when f.crash_ns is not null then greatest(f.low_ns, case when f.crash_ns = f.crash_latest_ns then f.crash_ns else least(f.crash_latest_ns, greatest(coalesce(f.hang_start_ns, f.stall_ns), f.crash_ns)) end) end,
        f.spoke_ns
    ) as first_error_ns
from failure_case as f
left join cause as c on c.failure_id = f.failure_id
left join tried as t on t.failure_id = f.failure_id
