-- A recognised message in a worker log: how often, on which rank, in which tier.
-- grain: one row a job attempt, pattern, file and rank
-- reads: worker_event, pattern
-- note: The tiers of a triage: process (it was killed), training (the loop crashed), data_io
-- note: (loading and I/O), then network, gpu and launcher. Where a line has no time of its own
-- note: (is_exact is false), the moments are the latest that fit.
create or replace view triage as
select
    w.job_id,
    w.attempt,
    w.tier,
    w.pattern,
    p.title,
    w.severity,
    w.role,
    w.rank,
    w.path,
    count(*) as line_count,
    max(w.retry_no) as top_retry,
    max(w.retry_limit) as retry_limit,
    make_timestamp_ns(min(w.latest_ns)) as first_at,
    make_timestamp_ns(max(w.latest_ns)) as last_at,
    bool_and(coalesce(w.stamp_source, '') in ('own', 'wrapper')) as is_exact,
    w.file_id,
    min(w.line_no) as line_no
from worker_event as w
left join pattern as p on p.pattern = w.pattern and p.format = 'worker'
where w.role in ('cause', 'symptom', 'consequence', 'retry', 'recovery', 'noise')
group by w.job_id, w.attempt, w.tier, w.pattern, p.title, w.severity, w.role, w.rank, w.path,
    w.file_id
