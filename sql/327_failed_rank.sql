-- A rank that should take part in a failed attempt, whether its logs are available or not.
-- grain: one row a rank of a failed attempt
-- reads: failed_attempt, worker_event, worker_tail, worker_file, fr_failure, fr_dump, fr_position,
-- reads: stack_stand
-- case: yes
-- note: All ranks of the stated world size, every rank that was seen, the one that is missing
-- note: between those of torchrun's tables, and every member of a group that a Flight Recorder dump
-- note: lists.
create or replace view failed_rank as
with seen as (
    select job_id, attempt, rank, max(utc_ns) as last_ns, count(*) as event_count,
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
    where told_kind is null
    group by job_id, coalesce(attempt, 0), coalesce(stated_rank, path_rank)
),
expected as (
    select a.job_id, a.attempt,
        unnest(generate_series(0, least(a.world_size, 65536) - 1))::integer as rank
    from failed_attempt as a
    where a.is_world_stated
    union
    select s.job_id, s.attempt, s.rank
    from seen as s
    join failed_attempt as a on a.job_id = s.job_id and a.attempt = s.attempt
    union
    select s.job_id, s.attempt, s.rank
    from spoken as s
    join failed_attempt as a on a.job_id = s.job_id and a.attempt = s.attempt
    union
    select g.job_id, g.attempt,
        unnest(
            list_filter(generate_series(0, g.last_rank),
                lambda x: not list_contains(g.ranks, x)))::integer
            as rank
    from (
        select job_id, attempt, max(rank) as last_rank, list(distinct rank) as ranks
        from worker_event
        where pattern = 'torchrun_failure_entry' and rank is not null
        group by job_id, attempt
    ) as g
    join failed_attempt as a on a.job_id = g.job_id and a.attempt = g.attempt
    where len(g.ranks) = g.last_rank
    union
    select f.job_id, f.attempt, p.rank
    from fr_failure as f
    join fr_position as p on p.job_id = f.job_id and p.path_attempt = f.path_attempt
    union
    select k.job_id, k.attempt, k.rank
    from stack as k
    join failed_attempt as a on a.job_id = k.job_id and a.attempt = k.attempt
    where k.rank is not null
)
select
    e.job_id,
    e.attempt,
    e.rank,
    coalesce(s.rank, p.rank, d.rank, k.rank) is null as is_absent,
    coalesce(s.last_ns, case when p.rank is null and d.rank is null then k.taken_ns end) as last_ns,
    coalesce(s.event_count, 0) as event_count,
    coalesce(s.host, d.host, k.host) as host,
    coalesce(s.file_id, p.file_id, d.file_id, k.file_id) as file_id
from expected as e
left join seen as s on s.job_id = e.job_id and s.attempt = e.attempt and s.rank = e.rank
left join spoken as p on p.job_id = e.job_id and p.attempt = e.attempt and p.rank = e.rank
left join dump as d on d.job_id = e.job_id and d.attempt = e.attempt and d.rank = e.rank
left join stack as k on k.job_id = e.job_id and k.attempt = e.attempt and k.rank = e.rank
