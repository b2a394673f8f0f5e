-- What is known of which rank a process, a local rank or a per-rank file is.
-- grain: one row a fact: file, pid or local rank, and the rank it stands for
-- reads: worker_line, worker_file
-- stored: yes
-- empty without: worker_line where rank is not null and (pid is not null or local_rank is not null); worker_file where path_local_rank is not null or path_rank is not null
-- note: pids repeat on other nodes, so a pid counts inside its file first, and in the whole job only where it names one rank.
create or replace view rank_identity as
with line as (
    select f.job_id, f.file_id, w.rank, w.pid, w.local_rank, w.host, f.path_local_rank, f.path_rank, w.rank_source
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id
    where w.rank is not null
)
select job_id, file_id, 'pid' as kind, pid as number, min(rank) as rank, max(host) as host
from line
where pid is not null and rank_source in ('tag', 'field')
group by job_id, file_id, pid
having count(distinct rank) = 1
union all
select job_id, null as file_id, 'pid' as kind, pid as number, min(rank) as rank, max(host) as host
from line
where pid is not null and rank_source in ('tag', 'field')
group by job_id, pid
having count(distinct rank) = 1
union all
select job_id, file_id, 'local' as kind, local_rank as number, min(rank) as rank, max(host) as host
from line
where local_rank is not null
group by job_id, file_id, local_rank
having count(distinct rank) = 1
union all
select job_id, null as file_id, 'local' as kind, local_rank as number, min(rank) as rank, max(host) as host
from line
where local_rank is not null
group by job_id, local_rank
having count(distinct rank) = 1
union all
select job_id, file_id, 'file' as kind, 0 as number, min(rank) as rank, max(host) as host
from line
where path_local_rank is not null or path_rank is not null
group by job_id, file_id
having count(distinct rank) = 1
