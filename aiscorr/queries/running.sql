-- Jobs that have not ended as far as their logs tell, the last to write first: when each wrote last, its last step, and whether it may hang.
-- without rows: every job in the logs has ended
with last_line as (
    select job_id, max(last_at) as last_line_at
    from source_file
    where kind = 'worker_log' and job_id is not null
    group by job_id
),
apart as (
    select job_id, min(statement) as statement, bool_or(is_still) as is_still
    from standing_apart
    group by job_id
)
select
    j.job_id,
    j.attempt,
    j.task,
    j.rank_count,
    j.world_size,
    j.started_at,
    l.last_line_at,
    s.step as last_step,
    a.is_still,
    a.statement as may_hang
from job as j
left join last_line as l on l.job_id = j.job_id
left join (select job_id, attempt, max(step) as step from step_time group by all) as s on s.job_id = j.job_id and s.attempt = j.attempt
left join apart as a on a.job_id = j.job_id
where coalesce(j.end_reason, 'end_of_logs') = 'end_of_logs'
    and not exists (from failure as f where f.job_id = j.job_id and f.attempt >= j.attempt)
order by l.last_line_at desc nulls last, j.job_id, j.attempt
