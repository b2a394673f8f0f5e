-- A rank of a job attempt that left something: a line, a Flight Recorder dump, or a stack.
-- grain: one row a rank of a job attempt
-- reads: worker_event, worker_tail, worker_file, fr_failure, fr_dump, stack_stand
-- case: yes
-- note: is_dump_only: it left a dump and nothing else. What a launcher says of a rank is not heard
-- note: from the rank; how it ended is its last word, at the latest moment that fits
-- note: and a launcher tells.
create or replace view seen_rank as
with event as (
    select job_id, attempt, rank, count(*) as event_count,
        max(latest_ns) filter (where tier is distinct from 'launcher'
            and coalesce(block_line_no::varchar, rank_effect) is not null) as end_ns,
        max(utc_ns) filter (where tier = 'launcher' and stamp_source = 'own') as told_ns,
        greatest(max(utc_ns) filter (where tier is distinct from 'launcher'),
            if(end_ns > told_ns, told_ns, end_ns)) as last_ns,
        arg_max(host, (utc_ns is not null, utc_ns, -file_id, line_no))
            filter (where host <> 'localhost') as host,
        min(file_id) as file_id
    from worker_event
    where rank is not null
    group by job_id, attempt, rank
),
spoken as (
    select f.job_id, f.path_attempt + t.attempt_no as attempt, t.rank, min(t.file_id) as file_id
    from worker_tail as t
    join worker_file as f on f.file_id = t.file_id
    where t.rank is not null
    group by f.job_id, f.path_attempt + t.attempt_no, t.rank
),
dump as (
    select f.job_id, f.attempt, d.rank, min(d.file_id) as file_id, min(d.host) as host
    from fr_failure as f
    join fr_dump as d on d.job_id = f.job_id and d.path_attempt = f.path_attempt
        and d.state = 'used'
    group by f.job_id, f.attempt, d.rank
),
stack as (
    select job_id, coalesce(attempt, 0) as attempt, coalesce(stated_rank, path_rank) as rank,
        max(taken_ns) as taken_ns, min(file_id) as file_id, min(host) as host
    from stack_stand
    where told_kind is null and coalesce(stated_rank, path_rank) is not null
    group by all
)
select
    job_id, attempt, rank,
    coalesce(e.last_ns, case when p.rank is null and d.rank is null then k.taken_ns end) as last_ns,
    coalesce(e.event_count, 0) as event_count,
    coalesce(e.host, d.host, k.host) as host,
    coalesce(e.file_id, p.file_id, d.file_id, k.file_id) as file_id,
    coalesce(e.rank, p.rank, k.rank) is null as is_dump_only
from event as e
full join spoken as p using (job_id, attempt, rank)
full join dump as d using (job_id, attempt, rank)
full join stack as k using (job_id, attempt, rank)
