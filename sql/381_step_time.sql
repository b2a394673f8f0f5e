-- A training step that a framework's progress line reports: when, how long, how long it waited for
-- data.
-- grain: one row a kept progress line of a job
-- reads: progress_line, worker_line, worker_file, clock, rank_identity
-- public: yes
-- stored: yes
-- note: Progress lines are thinned: `kept` says why a line is here (first of its file, sampled
-- note: every 512 KiB, last before a failure or the end). gap_s and gap_steps count from the kept
-- note: line before of the same rank, so gap_s / gap_steps is the mean over the steps between,
-- note: checkpoints and validation included. A time that is printed without the wait for data is
-- note: less than that wait: then that wait stands for the step.
create or replace view step_time as
with line as (
    select
        f.job_id, f.path_attempt + coalesce(w.attempt_no, 0) as attempt,
        coalesce(s.rank, i.rank, l.rank, m.rank) as rank,
        s.pattern, s.kept, s.step, s.epoch, s.step_s, s.data_s, s.elapsed_s, s.text, s.file_id,
        s.line_no, f.is_stream_copy, f.path,
        s.local_ns - case when s.zone_offset_s is null then k.shift_ns else 0 end as utc_ns
    from progress_line as s
    join worker_file as f on f.file_id = s.file_id
    join clock as k on k.file_id = s.file_id
    asof
        left join (select file_id, line_no, attempt_no from worker_line where attempt_no > 0) as w
            on w.file_id = s.file_id
            and w.line_no <= s.line_no
    left join rank_identity as i on i.kind = 'file' and i.file_id = s.file_id
    left join rank_identity as l on l.kind = 'local' and l.file_id = s.file_id
        and l.number = s.local_rank
    left join rank_identity as m on m.kind = 'local' and m.file_id is null and m.job_id = f.job_id
        and m.number = s.local_rank
    where s.step is not null
),
single as (
    select *
        from (select * from line
            qualify row_number() over (partition by file_id, line_no, step order by kept) = 1)
    qualify row_number()
        over (partition by job_id, attempt, rank, pattern, epoch, step,
            case when rank is null then file_id end, case when rank is not null then utc_ns end
            order by is_stream_copy, file_id, line_no)
            = 1
),
followed as (
    select
        *,
        lag(step) over same_rank as previous_step,
        lag(elapsed_s) over same_rank as previous_elapsed_s,
        lag(utc_ns) over same_rank as previous_ns
    from single
    window same_rank
        as (partition by job_id, attempt, rank, pattern, file_id order by line_no, elapsed_s, step)
),
spaced as (
    select
        * exclude (previous_step, previous_elapsed_s, previous_ns),
        case when step > previous_step then step - previous_step end as gap_steps,
        case
            when utc_ns >= previous_ns then (utc_ns - previous_ns) / 1e9
            when utc_ns is null and previous_ns is null and step > previous_step
                and elapsed_s >= previous_elapsed_s then elapsed_s - previous_elapsed_s
        end as gap_s
    from followed
)
select
    job_id,
    attempt,
    rank,
    step,
    epoch,
    make_timestamp_ns(utc_ns) as step_at,
    round(case when step_s is not null then greatest(step_s, data_s) else gap_s / gap_steps end, 4)
        as step_s,
    case when step_s is not null then 'printed' when gap_s / gap_steps is null then null
        when utc_ns is null then 'elapsed' else 'stamps' end
        as step_s_source,
    data_s,
    round(gap_s, 3) as gap_s,
    gap_steps,
    elapsed_s,
    pattern,
    kept,
    utc_ns,
    path,
    text,
    file_id,
    line_no
from spaced
