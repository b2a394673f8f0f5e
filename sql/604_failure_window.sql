-- The span of time that belongs to a failure: from the first thing that led to it to the end of the job.
-- grain: one row a failure
-- reads: failure_case, root_cause, get_batch_chain, node_fault, storage_link
-- stored: yes
-- empty without: failure_case
-- note: At the latest it begins with the hang, at the earliest the collective's time-out and two minutes before the watchdog spoke. first_error_ns is the first error of the verdict's chain, node or rank; a fault that was on longer has none of its own here, and an error without a stamp is not put before the moment the rank stopped keeping up.
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
)
select
    f.failure_id,
    greatest(f.low_ns, least(f.stall_ns, f.hang_start_ns, c.chain_ns, c.fault_ns, f.spoke_ns)) as started_ns,
    greatest(f.ended_ns, f.spoke_ns) as ended_ns,
    least(
        case when c.sign_ns >= f.low_ns then c.sign_ns end,
        case when f.crash_ns is not null then greatest(f.low_ns, case when f.crash_ns = f.crash_latest_ns then f.crash_ns else least(f.crash_latest_ns, greatest(coalesce(f.hang_start_ns, f.stall_ns), f.crash_ns)) end) end,
        f.spoke_ns
    ) as first_error_ns
from failure_case as f
left join cause as c on c.failure_id = f.failure_id
