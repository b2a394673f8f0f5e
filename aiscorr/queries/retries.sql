-- Retries by rank, and how they ended: escalated (to the limit), failed, recovered (the rank went on) or open (-p job=ID).
-- without rows: no rank repeated a request
with retry as (
    select job_id, attempt, rank, pattern, count(*) as line_count, max(retry_no) as top_retry, max(retry_limit) as retry_limit,
        min(event_at) as first_at, max(event_at) as last_at
    from worker_event
    where role = 'retry' and (job_id = $job or $job is null)
    group by job_id, attempt, rank, pattern
),
failed as (
    select distinct job_id, attempt, rank
    from rank_crash
    where failure_class in ('storage_io', 'data_loading_stall', 'data', 'network')
),
went_on as (
    select job_id, attempt, rank, max(make_timestamp_ns(utc_ns)) as until_at from step_time group by job_id, attempt, rank
    union all
    select job_id, attempt, rank, max(event_at) from worker_event where role = 'recovery' group by job_id, attempt, rank
    union all
    select s.job_id, s.attempt, s.rank, max(s.last_seen_at) from rank_state as s where s.role in ('initiator', 'notified', 'waiting', 'ahead') group by s.job_id, s.attempt, s.rank
    union all
    select r.job_id, r.attempt, r.rank, max(j.ended_at) from retry as r join job as j on j.job_id = r.job_id and j.attempt = r.attempt and j.end_reason = 'completed' group by r.job_id, r.attempt, r.rank
)
select r.job_id, r.attempt, r.rank, r.pattern, r.line_count, r.top_retry, r.retry_limit,
    case
        when r.top_retry >= r.retry_limit then 'escalated'
        when exists (from failed as f where f.job_id = r.job_id and f.attempt = r.attempt and f.rank = r.rank) then 'failed'
        when exists (from went_on as w where w.job_id = r.job_id and w.attempt = r.attempt and w.rank = r.rank and w.until_at > r.last_at) then 'recovered'
        else 'open'
    end as outcome,
    r.first_at, r.last_at
from retry as r
order by r.job_id, r.attempt, r.top_retry desc nulls last, r.rank
