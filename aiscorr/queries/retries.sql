-- Retries by rank: recovering or escalating to the limit (-p job=ID).
select job_id, attempt, rank, pattern, count(*) as line_count, max(retry_no) as top_retry, max(retry_limit) as retry_limit,
    case when max(retry_no) >= max(retry_limit) then 'escalated' when max(retry_no) is not null then 'recovered or open' end as outcome,
    min(event_at) as first_at, max(event_at) as last_at
from worker_event
where role = 'retry' and (job_id = $job or $job is null)
group by job_id, attempt, rank, pattern
order by job_id, attempt, top_retry desc nulls last, rank
