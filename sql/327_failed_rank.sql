-- A rank that should take part in a failed attempt, whether its logs are available or not.
-- grain: one row a rank of a failed attempt
-- reads: failed_attempt, seen_rank, worker_event, fr_failure, fr_position
-- case: yes
-- note: All ranks of the stated world size, every rank that was seen, the one that is missing
-- note: between those of torchrun's tables, and every member of a group that a Flight Recorder dump
-- note: lists.
create or replace view failed_rank as
with expected as (
    select a.job_id, a.attempt,
        unnest(generate_series(0, least(a.world_size, 65536) - 1))::integer as rank
    from failed_attempt as a
    where a.is_world_stated
    union
    select s.job_id, s.attempt, s.rank
    from seen_rank as s
    join failed_attempt as a on a.job_id = s.job_id and a.attempt = s.attempt
    where not s.is_dump_only
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
)
select
    e.job_id, e.attempt, e.rank, s.rank is null as is_absent, s.last_ns,
    coalesce(s.event_count, 0) as event_count, s.host, s.file_id
from expected as e
left join seen_rank as s on s.job_id = e.job_id and s.attempt = e.attempt and s.rank = e.rank
