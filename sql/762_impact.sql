-- What a failure cost: ranks stopped, seconds waited, steps since the last checkpoint.
-- grain: one row a failure
-- reads: failure, job, last_step, worker_file, worker_tail, worker_event
-- case: kept
-- note: lost_s runs from when the ranks began to wait, else from the first error, to the end of the
-- note: job. Only a line that reports a checkpoint as saved, with its step, counts, as one that was
-- note: begun may be lost. A checkpoint behind the last step that was reported is 0 steps old.
create or replace view impact as
with said as (
    select w.job_id, w.path_attempt + t.attempt_no as attempt, t.text
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint'
    union all
    select job_id, attempt, text from worker_event where pattern = 'checkpoint_store'
),
saved as (
    select
        job_id, attempt,
        max(try_cast(regexp_extract(
            text, '(?i)(?:step|iter(?:ation)?|checkpoint)[ =:_-]*(\d{1,9})\b', 1
        ) as bigint)) as step
    from said
    where regexp_matches(text, '(?i)\b(saved|written|stored|uploaded|persisted|committed)\b')
    group by job_id, attempt
)
select
    f.failure_id, coalesce(j.world_size, nullif(j.rank_count, 0))::integer as ranks,
    case
        when f.ended_at >= coalesce(f.hang_started_at, f.first_error_at) then
            (epoch_ns(f.ended_at) - epoch_ns(coalesce(f.hang_started_at, f.first_error_at))) / 1e9
    end as lost_s,
    case when s.step is not null and l.step is not null then greatest(l.step - s.step, 0) end
        as steps_since_checkpoint
from failure as f
join job as j on j.job_id = f.job_id and j.attempt = f.attempt
left join last_step as l on l.job_id = f.job_id and l.attempt = f.attempt
left join saved as s on s.job_id = f.job_id and s.attempt = f.attempt
