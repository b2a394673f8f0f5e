-- What is known of which rank a process, a local rank or a per-rank file is.
-- grain: one row a fact: file, task, pid or local rank, and the rank it stands for
-- reads: numbered_file, worker_line, step_line, worker_file
-- stored: yes
-- note: Lines of progress tell local ranks too. What numbers of files and of a spawner's processes
-- note: tell stands in numbered_file. pids repeat on other nodes, so a pid counts inside its file
-- note: first, and in the whole job only where it names one rank.
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
)
select job_id, file_id, null::integer as task, 'pid' as kind, pid as number, min(rank) as rank,
    max(host) as host
from line
where pid is not null and rank_source in ('tag', 'field')
group by job_id, file_id, pid
having count(distinct rank) = 1
union all
select job_id, null as file_id, null as task, 'pid' as kind, pid as number, min(rank) as rank,
    max(host) as host
from line
where pid is not null and rank_source in ('tag', 'field')
group by job_id, pid
having count(distinct rank) = 1
union all
select job_id, file_id, null as task, 'local' as kind, local_rank as number, min(rank) as rank,
    max(host) as host
from line
where local_rank is not null
group by job_id, file_id, local_rank
having count(distinct rank) = 1
union all
select job_id, null as file_id, null as task, 'local' as kind, local_rank as number,
    min(rank) as rank, max(host) as host
from line
where local_rank is not null
group by job_id, local_rank
having count(distinct rank) = 1
union all
select job_id, file_id, null as task, 'file' as kind, 0 as number, min(rank) as rank,
    max(host) as host
from line
where path_local_rank is not null or path_rank is not null
group by job_id, file_id
having count(distinct rank) = 1
union all
select p.job_id, p.file_id, p.task, 'place' as kind, i.number::integer as number,
    (p.first_rank + i.number)::integer as rank, null as host
from part as p
join range(1024) as i(number) on i.number < p.rank_count
where p.is_even and p.rank_count = p.least_count and p.rank_count > 1
    and p.covered_count = p.full_count and p.block_count > 1
union all
select job_id, file_id, null as task, kind, number, rank, null as host
from numbered_file
