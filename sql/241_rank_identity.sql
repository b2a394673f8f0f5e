-- What is known of which rank a process, a local rank or a per-rank file is.
-- grain: one row a fact: file, task, pid or local rank, and the rank it stands for
-- reads: worker_line, step_line, worker_file
-- stored: yes
-- note: Lines of progress tell local ranks too. pids repeat on other nodes, so a pid counts inside
-- note: its file first, and in the whole job only where it names one rank. Files numbered like
-- note: tasks (error-5120341-3.out) are those of ranks where two files or more that print a rank
-- note: print the one of their number, and none prints another; a spawner's processes in one log
-- note: are the ranks where no line has another rank than its local one. Where each of two logs or
-- note: more prints one rank, and all together the ranks of the world, a log is of its rank. Where
-- note: two files or more of torchrun's log folder print a rank each, and all as far from their
-- note: local one, a file beside them that prints none is of the rank at that distance. A task of
-- note: srun -l is a rank where each prints one, its own number or all together those of the world.
create or replace view rank_identity as
with line as (
    select f.job_id, f.file_id, w.rank, w.pid, w.local_rank, w.host, f.path_local_rank, f.path_rank,
        w.rank_source, w.task, w.world_size
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id
    where w.rank is not null
    union all by name
    select f.job_id, s.file_id, s.rank, s.local_rank, 'step' as rank_source
    from step_line as s
    join worker_file as f on f.file_id = s.file_id
    where s.rank is not null and s.local_rank is not null
),
apart as (
    select job_id
    from (select job_id, file_id, min(rank) as rank, count(distinct rank) as rank_count,
        max(world_size) as world_size
        from line where rank_source in ('tag', 'field') group by job_id, file_id)
    group by job_id
    having max(rank_count) = 1 and count(*) > 1 and count(distinct rank) = count(*)
        and max(rank) = count(*) - 1 and coalesce(max(world_size), count(*)) = count(*)
),
fact as (
    select job_id, unnest([file_id, null]) as file_id, 'pid' as kind, pid as number, rank, host
    from line
    where pid is not null and rank_source in ('tag', 'field')
    union all
    select job_id, unnest([file_id, null]), 'local', local_rank, rank, host
    from line
    where local_rank is not null
    union all
    select job_id, file_id, 'file', 0, rank, host
    from line
    where path_local_rank is not null or path_rank is not null
        or (rank_source in ('tag', 'field') and job_id in (from apart))
),
task as (
    select job_id, file_id, task, min(rank) as rank, count(distinct rank) as rank_count,
        max(max(world_size)) over (partition by job_id) as world_size
    from line
    where task is not null
    group by job_id, file_id, task
),
block as (
    select job_id, file_id, task, min(rank) as first_rank, count(distinct rank) as rank_count,
        max(rank) as last_rank, max(world_size) as world_size
    from line
    where rank_source in ('tag', 'field')
    group by job_id, file_id, task
),
part as (
    select *, max(world_size) over (partition by job_id) as full_count,
        sum(rank_count) over (partition by job_id) as covered_count,
        count(*) over (partition by job_id) as block_count,
        min(rank_count) over (partition by job_id) as least_count,
        bool_and(last_rank - first_rank + 1 = rank_count and first_rank % rank_count = 0)
            over (partition by job_id) as is_even
    from block
),
printed as (
    select f.job_id, f.file_id, f.worker_node_no, w.rank, w.local_rank,
        starts_with(w.pattern, 'torch_child_') and w.local_rank is not null as is_child
    from worker_file as f
    left join worker_line as w on w.file_id = f.file_id
        and (w.rank_source in ('tag', 'field') or starts_with(w.pattern, 'torch_child_'))
),
counted as (
    select job_id, file_id, any_value(worker_node_no) as number, count(distinct rank) as rank_count,
        min(rank) as rank
    from printed
    group by job_id, file_id
),
fitting as (
    select
        *,
        count(*) filter (where rank_count = 1 and rank = number)
            over (partition by job_id) as fit_count,
        count(*) filter (where rank_count > 1 or rank is distinct from number and rank is not null)
            over (partition by job_id) as misfit_count
    from counted
),
beside as (
    select f.job_id, f.file_id, f.path_local_rank, l.rank_count,
        case when l.rank_count = 1 then l.rank end as own_rank,
        own_rank - f.path_local_rank as distance,
        regexp_replace(f.path, '/[^/]+/[^/]+$', '') as folder
    from worker_file as f
    left join (
        select file_id, min(rank) as rank, count(distinct rank) as rank_count
        from line where rank_source in ('tag', 'field') group by file_id
    ) as l on l.file_id = f.file_id
    where f.path_local_rank is not null
)
select job_id, file_id, null::integer as task, kind, number, min(rank) as rank, max(host) as host
from fact
group by job_id, file_id, kind, number
having count(distinct rank) = 1
union all
select p.job_id, p.file_id, p.task, 'place' as kind, i.number::integer as number,
    (p.first_rank + i.number)::integer as rank, null as host
from part as p
join range(1024) as i(number) on i.number < p.rank_count
where p.is_even and p.rank_count = p.least_count and p.rank_count > 1
    and p.covered_count = p.full_count and p.block_count > 1
union all
select job_id, file_id, null as task, 'task' as kind, task as number, rank, null as host
from task
where job_id in (select job_id from task group by job_id
    having max(rank_count) = 1 and count(*) > 1 and count(distinct rank) = count(*)
        and (bool_and(rank = task) or count(*) = max(world_size)))
union all
select job_id, file_id, null as task, 'file' as kind, 0 as number, number as rank, null as host
from fitting
where rank_count = 0 and number is not null and fit_count > 1 and misfit_count = 0
union all
select b.job_id, b.file_id, null as task, 'file' as kind, 0 as number,
    (b.path_local_rank + d.distance)::integer as rank, null as host
from beside as b
join (
    select folder, min(distance) as distance from beside group by folder
    having count(distinct distance) = 1 and count(distinct own_rank) > 1
) as d on d.folder = b.folder
where b.rank_count is null
union all
select distinct job_id, file_id, null as task, 'local' as kind, local_rank as number,
    local_rank as rank, null as host
from printed
where is_child and job_id in (
    select job_id
    from printed
    group by job_id
    having count(distinct file_id) filter (where is_child) = 1
        and not coalesce(bool_or(rank <> local_rank), false)
)
