-- A log of one rank that names none, told by its number or by the process that a spawner started.
-- grain: one row a file, or a file and process of a spawner
-- reads: worker_line, worker_file
-- stored: yes
-- note: Files numbered like tasks (error-5120341-3.out) are those of ranks where two files or more
-- note: that print a rank print the one of their number, and none prints another.
create or replace view numbered_file as
with line as (
    select f.job_id, f.file_id, f.worker_node_no, w.rank, w.local_rank,
        starts_with(w.pattern, 'torch_child_') and w.local_rank is not null as is_child
    from worker_file as f
    left join worker_line as w on w.file_id = f.file_id
        and (w.rank_source in ('tag', 'field') or starts_with(w.pattern, 'torch_child_'))
),
counted as (
    select job_id, file_id, any_value(worker_node_no) as number, count(distinct rank) as rank_count,
        min(rank) as rank
    from line
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
spawned as (
    select
        job_id, file_id, local_rank,
        count(distinct file_id) over (partition by job_id) as file_count
    from line
    where is_child
    group by job_id, file_id, local_rank
)
select job_id, file_id, 'file' as kind, 0 as number, number as rank
from fitting
where rank_count = 0 and number is not null and fit_count > 1 and misfit_count = 0
union all
select s.job_id, s.file_id, 'local' as kind, s.local_rank as number, s.local_rank as rank
from spawned as s
where s.file_count = 1
    and not exists (select 1 from line as l
        where l.job_id = s.job_id and l.rank is not null and l.local_rank is not null
            and l.rank <> l.local_rank)
