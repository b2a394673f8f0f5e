-- A job attempt from its first to its last line, with what its lines say about it.
-- grain: one row a job and attempt
-- reads: worker_event, worker_line, worker_file, clock, worker_tail, progress_line, fr_dump,
-- reads: fr_position, stack_stand, job_world
-- stored: yes
-- note: A job without a log is known from its Flight Recorder dumps alone. The log of a host
-- note: (kernel, system) lies beside those of a job for days: a file that tells no rank, step,
-- note: launcher or training gives the job its time only where no other does. A step's time counts,
-- note: though its line prints no date, and in a file that prints UTC no first or last time of a
-- note: line that prints no zone. printed_s: so long the steps took at least whose lines have no
-- note: time, by what they print: each step counts once a file, as do those since the line before
-- note: it, by the shorter of both lines, and the longest file counts.
create or replace view job_span as
with telling as (
    select file_id from worker_file
        where coalesce(path_rank, path_local_rank, worker_node_no) is not null
    union
    select file_id from worker_event
        where rank is not null or tier not in ('gpu', 'process', 'network')
    union
    select file_id from worker_tail where rank is not null or step is not null
    union
    select file_id from progress_line
),
file as (
    select f.job_id, f.path_attempt, f.file_id,
        nullif(f.first_ns, z.first_ns) - if(f.is_utc, 0, k.shift_ns) as first_ns,
        nullif(f.last_ns, z.last_ns) - if(f.is_utc, 0, k.shift_ns) as last_ns
    from worker_file as f
    join clock as k on k.file_id = f.file_id
    left join (
        select file_id, min(local_ns) as first_ns, max(local_ns) as last_ns
        from worker_line
        where zone_offset_s is null and stamp_source = 'own'
        group by file_id
    ) as z on z.file_id = f.file_id and f.is_utc and k.shift_ns <> 0
    where f.kind = 'worker_log'
    qualify f.file_id in (select file_id from telling)
        or not bool_or(f.file_id in (select file_id from telling)) over (partition by f.job_id)
),
stepped as (
    select f.job_id, f.path_attempt + coalesce(s.attempt_no, 0) as attempt,
        min(s.local_ns - if(s.zone_offset_s is null, k.shift_ns, 0)) as first_ns
    from progress_line as s
    join worker_file as f on f.file_id = s.file_id and s.local_ns >= f.first_ns - 86400e9
    join clock as k on k.file_id = s.file_id
    group by f.job_id, f.path_attempt + coalesce(s.attempt_no, 0)
),
dump as (
    select d.job_id, d.path_attempt as attempt, min(d.first_ns) as first_ns,
        max(d.last_ns) as last_ns, max(p.rank) as top_rank
    from fr_dump as d
    left join fr_position as p on p.job_id = d.job_id and p.path_attempt = d.path_attempt
    where d.state = 'used'
    group by d.job_id, d.path_attempt
    union all
    select job_id, coalesce(attempt, 0), min(taken_ns), max(taken_ns),
        max(coalesce(stated_rank, path_rank))
    from stack_stand as s
    where told_kind is null
        and not exists (select 1 from fr_dump as d where d.job_id = s.job_id and d.state = 'used')
    group by job_id, coalesce(attempt, 0)
),
step as (
    select f.job_id, f.path_attempt + coalesce(s.attempt_no, 0) as attempt, s.file_id, s.epoch,
        s.step, max(s.step_s) as step_s
    from progress_line as s
    join worker_file as f on f.file_id = s.file_id
    where s.local_ns is null and s.step is not null and s.step_s > 0
    group by f.job_id, f.path_attempt + coalesce(s.attempt_no, 0), s.file_id, s.epoch, s.step
),
printed as (
    select job_id, attempt, max(file_s) as printed_s
    from (
        select job_id, attempt, sum(gap_s) as file_s
        from (
            select *, (step - lag(step) over turn) * least(step_s, lag(step_s) over turn) as gap_s
            from step
            window turn as (partition by job_id, attempt, file_id, epoch order by step)
        )
        group by job_id, attempt, file_id
    )
    group by job_id, attempt
),
attempt as (
    select distinct job_id, attempt from worker_event
    union
    select distinct job_id, path_attempt from file
    union
    select job_id, attempt from dump as d
    where not exists (select 1 from file as f where f.job_id = d.job_id)
        and not exists (select 1 from worker_event as w where w.job_id = d.job_id)
),
event as (
    select
        job_id, attempt,
        min(utc_ns)
            filter (
                where stamp_source in ('own', 'wrapper') and file_id in (select file_id from file))
                as first_ns,
        max(utc_ns)
            filter (
                where stamp_source in ('own', 'wrapper') and file_id in (select file_id from file))
                as last_ns,
        max(utc_ns) filter (where marks = 'job_success') as success_ns,
        bool_or(marks = 'job_success') as is_done,
        coalesce(max(utc_ns) filter (where pattern like 'slurm%' and marks = 'attempt_end'),
            min(utc_ns) filter (where rank_effect = 'stopped' and tier = 'launcher'))
            as cancel_ns
    from worker_event
    group by job_id, attempt
),
tail as (
    select f.job_id, f.path_attempt + t.attempt_no as attempt,
        max(t.local_ns - case when t.zone_offset_s is null then k.shift_ns else 0 end)
            as progress_ns
    from worker_tail as t
    join worker_file as f on f.file_id = t.file_id
    join clock as k on k.file_id = t.file_id
    where not contains(t.text, 'slurmstepd') and not contains(t.text, 'srun:')
    group by f.job_id, f.path_attempt + t.attempt_no
)
select
    a.job_id,
    a.attempt,
    case
        when a.attempt = min(a.attempt) over (partition by a.job_id)
            then least(min(f.first_ns), e.first_ns, i.first_ns)
        else coalesce(least(e.first_ns, i.first_ns), min(f.first_ns)) end
        as log_started_ns,
    case
        when a.attempt = max(a.attempt) over (partition by a.job_id)
            then greatest(max(f.last_ns), e.last_ns)
        else coalesce(e.last_ns, max(f.last_ns)) end
        as log_ended_ns,
    coalesce(log_started_ns, any_value(d.first_ns)) as started_ns,
    coalesce(log_ended_ns, any_value(d.last_ns)) as ended_ns,
    case
        when w.is_stated and w.world_size > coalesce(any_value(d.top_rank), 0) then w.world_size
        else greatest(w.world_size, any_value(d.top_rank) + 1)
    end as world_size,
    coalesce(w.is_stated and w.world_size > coalesce(any_value(d.top_rank), 0), false)
        as is_world_stated,
    e.success_ns,
    coalesce(e.is_done, false) as is_done,
    e.cancel_ns,
    t.progress_ns,
    p.printed_s
from attempt as a
left join job_world as w on w.job_id = a.job_id and w.attempt = a.attempt
left join event as e on e.job_id = a.job_id and e.attempt = a.attempt
left join tail as t on t.job_id = a.job_id and t.attempt = a.attempt
left join stepped as i on i.job_id = a.job_id and i.attempt = a.attempt
left join printed as p on p.job_id = a.job_id and p.attempt = a.attempt
left join file as f on f.job_id = a.job_id and f.path_attempt <= a.attempt
left join dump as d on d.job_id = a.job_id and d.attempt = a.attempt
group by a.job_id, a.attempt, i.first_ns, e.first_ns, e.last_ns, w.world_size, w.is_stated,
    e.success_ns, e.is_done, e.cancel_ns, t.progress_ns, p.printed_s
