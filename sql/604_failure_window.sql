-- The span of time that belongs to a failure: from what first led to it to the end of the job.
-- grain: one row a failure
-- reads: failure_case, root_cause, first_error, culprit_cause, rank_request, get_batch_chain,
-- reads: node_fault, storage_link, threshold
-- case: yes
-- note: At the latest it begins with the hang, at the earliest the collective's time-out and two
-- note: minutes before the watchdog spoke; of a job that was cancelled after it stood still it
-- note: begins with the last step. first_error_ns is the first error of the verdict's evidence,
-- note: fault or tries of the very object (try_gap_s apart at most), or the watchdog's;
-- note: first_error_is says if a line prints it.
create or replace view failure_window as
with cause as (
    select
        r.failure_id,
        min(c.started_ns) as chain_ns,
        min(n.started_ns) as fault_ns,
        min(n.sign_ns) as sign_ns,
        arg_min(
            case
                when n.moment_words is null then 'exact'
                when n.fault_kind = 'killed' then 'at_earliest'
                else 'at_latest'
            end, n.sign_ns
        ) as sign_is
    from root_cause as r
    left join get_batch_chain as c on c.chain_id = r.chain_id
    left join storage_link as l
        on l.failure_id = r.failure_id and l.node_id = r.node_id and r.storage_verdict = 'guilty'
    left join node_fault as n on n.fault_id = l.fault_id
    where r.place = 1
    group by r.failure_id
),
attempt as (
    select
        u.failure_id, r.from_ns,
        coalesce(lead(r.from_ns) over tries, u.crash_latest_ns) - r.from_ns
            > (select value * 1e9 from threshold where name = 'try_gap_s') as is_apart
    from culprit_cause as u
    join rank_request as r on r.failure_id = u.failure_id and r.rank = u.witness_rank
        and r.outcome = 'retry' and r.object = u.object and r.from_ns <= u.crash_latest_ns
    window tries as (partition by u.failure_id, u.witness_rank order by r.from_ns, r.line_no)
),
tried as (
    select failure_id, min(from_ns) as tried_ns
    from attempt as t
    where not exists (
        from attempt as o
        where o.failure_id = t.failure_id and o.from_ns >= t.from_ns and o.is_apart
    )
    group by failure_id
),
crash as (
    select
        failure_id,
        greatest(low_ns, case
            when crash_ns = crash_latest_ns then crash_ns
            else least(crash_latest_ns, greatest(coalesce(hang_start_ns, stall_ns), crash_ns))
        end) as error_ns,
        case when crash_ns = crash_latest_ns then 'exact' else 'at_latest' end as error_is
    from failure_case as f
    where crash_ns is not null
        and not exists (from first_error as e where e.failure_id = f.failure_id)
),
error as (
    select failure_id, error_ns, error_is from first_error
    union all
    select failure_id, error_ns, error_is from crash
    union all
    select c.failure_id, c.sign_ns, c.sign_is
    from cause as c
    join failure_case as f on f.failure_id = c.failure_id and c.sign_ns >= f.low_ns
    union all
    select t.failure_id, t.tried_ns, 'exact'
    from tried as t
    join failure_case as f on f.failure_id = t.failure_id and t.tried_ns >= f.low_ns
    union all
    select
        failure_id, spoke_ns,
        case
            when crash_ns < crash_latest_ns and spoke_ns = crash_latest_ns then 'at_latest'
            else 'exact'
        end
    from failure_case
    where spoke_ns is not null
),
first as (
    select
        failure_id, min(error_ns) as error_ns,
        arg_min(error_is, (error_ns, error_is <> 'exact')) as error_is
    from error
    group by failure_id
)
select
    f.failure_id,
    greatest(
        f.low_ns,
        least(f.stall_ns, f.hang_start_ns, c.chain_ns, c.fault_ns, t.tried_ns, f.spoke_ns,
            case when f.hang_start_ns is null and f.crash_ns is null then f.idle_from_ns end)
    ) as started_ns,
    greatest(f.ended_ns, f.spoke_ns) as ended_ns,
    e.error_ns as first_error_ns,
    e.error_is as first_error_is
from failure_case as f
left join cause as c on c.failure_id = f.failure_id
left join tried as t on t.failure_id = f.failure_id
left join first as e on e.failure_id = f.failure_id
