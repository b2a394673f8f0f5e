-- The last step that a job attempt reports, and how long it takes from one report to the next.
-- grain: one row a job attempt with stamped progress lines
-- reads: progress_line, worker_line, worker_file, clock
-- stored: yes
-- note: The job stood still between the last report and the moment the next one was due. Worked
-- note: example: iteration 120 at 11:35:56, a report every 10 iterations of 0.58 s each: the
-- note: standstill began before 11:36:02, whenever a time-out was noticed.
create or replace view last_step as
with line as (
    select
        f.job_id, f.path_attempt + coalesce(w.attempt_no, 0) as attempt, s.pattern, s.rank, s.step,
        s.local_ns - case when s.zone_offset_s is null then k.shift_ns else 0 end as utc_ns,
        s.file_id, s.line_no
    from progress_line as s
    join worker_file as f on f.file_id = s.file_id
    join clock as k on k.file_id = s.file_id
    asof
        left join (select file_id, line_no, attempt_no from worker_line where attempt_no > 0) as w
            on w.file_id = s.file_id
            and w.line_no <= s.line_no
    where s.local_ns is not null and s.step is not null
),
spaced as (
    select
        *,
        utc_ns - lag(utc_ns) over same as gap_ns,
        step - lag(step) over same as gap_steps
    from line
    window same as (partition by job_id, attempt, file_id, pattern, rank order by line_no)
)
select
    job_id,
    attempt,
    max(utc_ns) as step_ns,
    max(step) as step,
    (median(gap_ns / gap_steps) filter (where gap_steps > 0 and gap_ns >= 0) * min(gap_steps)
        filter (where gap_steps > 0))::bigint
        as interval_ns,
    arg_max(file_id, (utc_ns, -file_id, line_no)) as file_id,
    arg_max(line_no, (utc_ns, -file_id, line_no)) as line_no
from spaced
group by job_id, attempt
