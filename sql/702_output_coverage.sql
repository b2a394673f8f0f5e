-- What is available of the output of a rank of a failed job.
-- grain: one row a failure and rank
-- reads: failure_case, rank_state, worker_event, worker_tail, worker_file, clock,
-- reads: failure_signal, ingested_file
-- case: yes
-- note: Only what a rank prints is its output, not what a launcher prints about it; of several
-- note: files the one that goes on longest, and a second copy of a stream last. A rank without
-- note: output is unknown, not missing, where the output of several ranks goes into one file, as
-- note: its lines there may name no rank. The world has at least as many ranks as its size says.
create or replace view output_coverage as
with file as (
    select
        w.file_id, w.job_id, w.path_attempt, w.path_rank, w.is_stream_copy, k.shift_ns,
        case when w.is_utc then 0 else k.shift_ns end as file_shift_ns,
        w.first_ns - file_shift_ns as first_ns, w.last_ns - file_shift_ns as last_ns,
        coalesce(starts_with(i.problem, 'ends early'), false) as is_short
    from worker_file as w
    join clock as k on k.file_id = w.file_id
    left join ingested_file as i on i.file_id = w.file_id
    where w.kind = 'worker_log'
),
line as (
    select job_id, attempt, rank, file_id, utc_ns as said_ns, line_no
    from worker_event
    where rank is not null and not regexp_matches(pattern, '^(torchrun|srun|slurm)_')
    union all
    select
        f.job_id, f.path_attempt + t.attempt_no, t.rank, t.file_id,
        t.local_ns - case when t.zone_offset_s is null then f.shift_ns else 0 end, t.line_no
    from worker_tail as t
    join file as f on f.file_id = t.file_id
    where t.rank is not null
    union all
    select job_id, path_attempt, path_rank, file_id, first_ns, 1
    from file
    where path_rank is not null
),
spoken as (
    select
        l.job_id, l.attempt, l.rank, l.file_id, f.is_stream_copy, f.is_short,
        f.last_ns as file_end_ns,
        min(l.said_ns) as started_ns, max(l.said_ns) as ended_ns,
        arg_max(l.line_no, (l.said_ns is not null, l.said_ns, l.line_no)) as line_no
    from line as l
    join file as f on f.file_id = l.file_id
    group by l.job_id, l.attempt, l.rank, l.file_id, f.is_stream_copy, f.is_short, f.last_ns
),
output as (
    from spoken
    qualify row_number() over (
        partition by job_id, attempt, rank
        order by
            coalesce(is_stream_copy, false), file_end_ns desc nulls last,
            ended_ns desc nulls last, file_id
    ) = 1
),
spread as (
    select job_id, attempt, file_id, min(rank) as low_rank, max(rank) as high_rank
    from spoken
    group by job_id, attempt, file_id
),
log as (
    select job_id, greatest(count(*) filter (where is_stream_copy is not true), 1) as log_count
    from worker_file
    where kind = 'worker_log'
    group by job_id
),
part as (
    select failure_id, unnest(generate_series(0, least(world_size, 65536) - 1))::integer as rank
    from failure_case
    where world_size is not null
    union
    select failure_id, rank from rank_state
),
fate as (
    select
        job_id, attempt, rank,
        arg_min(signal, (utc_ns, file_id, line_no)) as signal,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from failure_signal
    where rank is not null and signal in (
        'timeout', 'notified', 'crash', 'killed', 'aborted', 'exit', 'victim', 'cancel'
    )
    group by job_id, attempt, rank
),
known as (
    select
        f.failure_id, f.job_id, p.rank, f.heard_ns, f.ended_ns as job_end_ns,
        o.rank is not null as is_held, o.started_ns, o.ended_ns, o.file_end_ns, o.is_short,
        e.signal,
        g.job_id is null or coalesce(r.is_absent, true) and g.log_count > 1 and not exists (
            from spread as s
            where s.job_id = f.job_id and s.attempt = f.attempt
                and p.rank > s.low_rank and p.rank < s.high_rank
        ) as is_missing,
        coalesce(e.file_id, o.file_id, r.file_id) as file_id,
        case
            when e.rank is not null then e.line_no
            when o.rank is not null then o.line_no
            else r.line_no
        end as line_no
    from failure_case as f
    join part as p on p.failure_id = f.failure_id
    left join rank_state as r on r.failure_id = f.failure_id and r.rank = p.rank
    left join output as o on o.job_id = f.job_id and o.attempt = f.attempt and o.rank = p.rank
    left join fate as e on e.job_id = f.job_id and e.attempt = f.attempt and e.rank = p.rank
    left join log as g on g.job_id = f.job_id
)
select
    failure_id, job_id, rank, started_ns, ended_ns,
    case
        when not is_held then case when is_missing then 'missing' else 'unknown' end
        when signal is null and is_short then 'cut'
        when signal is not null or file_end_ns >= job_end_ns then 'complete'
        when file_end_ns < heard_ns then 'cut'
        else 'unknown'
    end as state,
    case
        when not is_held and is_missing then 'no line of it is in any file that was read'
        when not is_held then 'no line is its own: lines of others name it, or none'
        when signal is not null then 'a line reports its end: ' || signal
        when is_short then 'its file is compressed and breaks off'
        when file_end_ns >= job_end_ns then 'its file goes on to the end of the job'
        when file_end_ns < heard_ns then 'its file ends before the failure was reported'
        else 'no line shows whether its output is whole'
    end as because,
    file_id, line_no
from known
