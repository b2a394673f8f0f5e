-- A rank of a host that the scheduler lost, whose kernel crashed, or that lost its power, and of
-- which no rank told how it ended.
-- grain: one row a rank of a failed attempt
-- reads: worker_event, failed_attempt, failure_signal, job, rank_host
-- case: yes
-- note: Where no line names the host of the silent ranks, they are those of the lost hosts if they
-- note: are as many as these have ranks and no rank that spoke ran there, or where as many nodes,
-- note: counted by ranks, have no rank that spoke. Where srun tells how the task of a node ended,
-- note: which is its torchrun, the ranks of that node have spoken.
create or replace view lost_host as
with line as (
    select e.job_id, e.attempt, split_part(e.host, '.', 1) as host, e.file_id, e.line_no, e.text
    from worker_event as e
    join failed_attempt as f on f.job_id = e.job_id and f.attempt = e.attempt
    where e.pattern in ('slurm_node_failure', 'host_power_lost', 'kernel_panic')
        and e.host is not null
    qualify row_number()
        over (partition by e.job_id, e.attempt, split_part(e.host, '.', 1) order by e.utc_ns,
            e.file_id, e.line_no)
            = 1
),
lost as (
    select job_id, attempt, list(host) as hosts, min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no, arg_min(text, (file_id, line_no)) as text
    from line
    group by job_id, attempt
),
spoken as (
    select distinct job_id, attempt, rank
    from failure_signal
    where rank is not null
        and signal
            in ('timeout', 'notified', 'crash', 'killed', 'aborted', 'victim', 'exit', 'cancel')
),
ended_task as (
    select e.job_id, e.attempt,
        try_cast(json_extract_string(e.capture, '$.tasks') as integer) as task
    from worker_event as e
    where starts_with(e.pattern, 'srun_task_') and e.rank is null
        and not exists (from line as l
            where l.job_id = e.job_id and l.attempt = e.attempt
                and l.host = split_part(e.host, '.', 1))
        and exists (from failure_signal as a
            where a.job_id = e.job_id and a.attempt = e.attempt
                and starts_with(a.pattern, 'torchrun_'))
    group by all
),
rank_end as (
    select h.job_id, h.attempt, h.rank, h.host, l.hosts, j.ranks_per_node, s.rank is not null
        or t.task is not null as has_spoken,
        coalesce(list_contains(l.hosts, h.host), false) as is_there, l.file_id, l.line_no, l.text
    from lost as l
    join rank_host as h on h.job_id = l.job_id and h.attempt = l.attempt
    join job as j on j.job_id = l.job_id and j.attempt = l.attempt
    left join spoken as s on s.job_id = h.job_id and s.attempt = h.attempt and s.rank = h.rank
    left join ended_task as t on t.job_id = h.job_id and t.attempt = h.attempt
        and j.world_size = j.ranks_per_node * j.node_count and t.task = h.rank // j.ranks_per_node
),
counted as (
    select
        *, bool_or(is_there and has_spoken) over whole as is_alive,
        count(*) over whole as rank_count,
        bool_or(has_spoken or (host is not null and not is_there)) over node
            or count(*) over node < ranks_per_node as is_node_alive,
        count(*) filter (where not has_spoken) over whole as quiet_count,
        count(*) filter (where not has_spoken and host is not null and not is_there)
            over whole as elsewhere_count
    from rank_end
    window whole as (partition by job_id, attempt),
    node as (partition by job_id, attempt, rank // nullif(ranks_per_node, 0))
),
placed as (
    select *,
        count(*) filter (where not is_node_alive and rank % nullif(ranks_per_node, 0) = 0)
            over (partition by job_id, attempt) as quiet_node_count
    from counted
)
select job_id, attempt, rank, file_id, line_no, text
from placed
where not has_spoken and not is_alive and quiet_count < rank_count
    and (is_there
        or (host is null
            and ((elsewhere_count = 0 and quiet_count = len(hosts) * ranks_per_node)
                or (not is_node_alive and quiet_node_count = len(hosts)))))
