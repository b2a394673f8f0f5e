-- How long the steps of a job took by what its progress lines print, where these lines have no time
-- of their own.
-- grain: one row a job attempt with such lines
-- reads: progress_line, worker_file
-- stored: yes
-- note: Each step counts once a file, whoever printed it, and so do those since the line before it,
-- note: each as long as the shorter of both lines says; of several files the longest counts. What
-- note: passed before the first line and between epochs is not in it.
create or replace view printed_progress as
with step as (
    select f.job_id, f.path_attempt + coalesce(s.attempt_no, 0) as attempt, s.file_id, s.epoch,
        s.step, max(s.step_s) as step_s
    from progress_line as s
    join worker_file as f on f.file_id = s.file_id
    where s.local_ns is null and s.step is not null and s.step_s > 0
    group by f.job_id, f.path_attempt + coalesce(s.attempt_no, 0), s.file_id, s.epoch, s.step
),
gap as (
    select *, step - lag(step) over turn as step_count,
        least(step_s, lag(step_s) over turn) as least_s
    from step
    window turn as (partition by job_id, attempt, file_id, epoch order by step)
),
summed as (
    select job_id, attempt, file_id, sum(least_s * step_count) as printed_s
    from gap
    where step_count is not null
    group by job_id, attempt, file_id
)
select job_id, attempt, max(printed_s) as printed_s
from summed
group by job_id, attempt
