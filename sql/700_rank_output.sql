-- The file with the output of a rank, and the first and last line in it that the rank printed.
-- grain: one row a job attempt, rank and file
-- reads: worker_event, worker_tail, worker_file, clock
-- note: Only what a rank prints is its output, not what a launcher prints about it. The file at
-- note: output_no 1 is the one that goes on longest; a second copy of a stream comes last.
create or replace view rank_output as
with file as (
    select
        w.file_id, w.job_id, w.path_attempt, w.path_rank, w.is_stream_copy,
        case when w.is_utc then 0 else k.shift_ns end as file_shift_ns, k.shift_ns,
        w.first_ns - file_shift_ns as first_ns, w.last_ns - file_shift_ns as last_ns
    from worker_file as w
    join clock as k on k.file_id = w.file_id
    where w.kind = 'worker_log'
),
line as (
    select job_id, attempt, rank, file_id, utc_ns as said_ns, line_no
    from worker_event
    where rank is not null and not regexp_matches(pattern, '^(torchrun|srun|slurm)_')
    union all
    select
        f.job_id, f.path_attempt + t.attempt_no as attempt, t.rank, t.file_id,
        t.local_ns - case when t.zone_offset_s is null then f.shift_ns else 0 end as said_ns,
        t.line_no
    from worker_tail as t
    join file as f on f.file_id = t.file_id
    where t.rank is not null
    union all
    select job_id, path_attempt as attempt, path_rank as rank, file_id, first_ns, 1 as line_no
    from file
    where path_rank is not null
),
spoken as (
    select
        l.job_id, l.attempt, l.rank, l.file_id, f.is_stream_copy, f.last_ns as file_end_ns,
        min(l.said_ns) as started_ns, max(l.said_ns) as ended_ns,
        arg_max(l.line_no, (l.said_ns is not null, l.said_ns, l.line_no)) as line_no
    from line as l
    join file as f on f.file_id = l.file_id
    group by l.job_id, l.attempt, l.rank, l.file_id, f.is_stream_copy, f.last_ns
)
select
    job_id, attempt, rank, file_id, started_ns, ended_ns, file_end_ns, line_no,
    row_number() over (
        partition by job_id, attempt, rank
        order by
            coalesce(is_stream_copy, false), file_end_ns desc nulls last,
            ended_ns desc nulls last, file_id
    ) as output_no
from spoken
