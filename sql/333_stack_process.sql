-- A process of a training job in a stack dump: which rank it is or works for, what kind of process
-- it is, where it stands, what that is.
-- grain: one row a process in a dump
-- reads: stack_stand, rank_identity, log_straggler
-- case: kept
-- note: kind: trainer (a rank), worker (of a DataLoader), helper (another child of a rank),
-- note: launcher, process (none of the job's).
create or replace view stack_process as
with owned as (
    select
        p.*,
        case when told_kind is null and task_no is not null
            and count(*) filter (where told_kind is null)
                over (partition by p.job_id, p.file_id, task_no) = 1
                then task_no end
            as task_rank,
        coalesce(p.stated_rank, i.rank, o.rank, b.rank, l.rank,
            case when p.attempt is not null then p.path_rank end, task_rank, e.rank, g.rank)
            as own_rank
    from stack_stand as p
    left join log_straggler as g on g.file_id = p.file_id and g.attempt = p.attempt
        and p.told_kind is null and coalesce(p.activity <> 'collective', true)
    left join rank_identity as i on i.job_id = p.job_id and i.kind = 'pid' and i.file_id is null
        and i.number = p.pid
        and (p.host is null or i.host is null
            or split_part(i.host, '.', 1) = split_part(p.host, '.', 1))
    left join rank_identity as e on e.kind = 'file' and e.file_id = p.file_id
        and p.told_kind is null
    left join rank_identity as o on o.kind = 'local' and o.file_id = p.file_id
        and o.number = p.local_rank
    left join rank_identity as b on b.kind = 'place' and b.file_id = p.file_id
        and b.task is not distinct from p.task_no and b.number = p.local_rank
    left join rank_identity as l on l.job_id = p.job_id and l.kind = 'local' and l.file_id is null
        and l.number = p.local_rank
),
parent as (
    select job_id, host, pid, min(own_rank) as rank
    from owned
    where told_kind is null and own_rank is not null
    group by job_id, host, pid
    having count(distinct own_rank) = 1
),
known as (
    select
        o.*, regexp_replace(path, '/[^/]*$', '') as folder, coalesce(o.own_rank, m.rank) as rank,
        case when told_kind is not null then told_kind when m.rank is not null
            and coalesce(o.own_rank, m.rank) = m.rank then 'helper'
            when o.own_rank is not null then 'trainer' else 'process' end
            as kind
    from owned as o
    left join parent as m on m.job_id = o.job_id and m.pid = o.parent_pid
        and m.host is not distinct from o.host
),
timed as (
    select *,
        coalesce(folder <> lag(folder) over turn or taken_ns > lag(taken_ns) over turn + 5000000000
            or (file_id = lag(file_id) over turn and pid is not distinct from lag(pid) over turn),
            false)::integer
            as is_new
    from known
    window turn
        as (partition by job_id, attempt, rank, kind, case when kind <> 'trainer' then pid end
            order by taken_ns, path, dump_no)
)
select
    job_id, attempt, file_id, dump_no, pid, parent_pid, host, rank, kind, taken_ns,
    (1 + sum(is_new)
        over (partition by job_id, attempt, rank, kind, case when kind <> 'trainer' then pid end)
            - sum(is_new)
        over (partition by job_id, attempt, rank, kind, case when kind <> 'trainer' then pid end
            order by taken_ns, path, dump_no))::integer
        as moment_no,
    is_json, coalesce(calls, []) as calls, coalesce(places, []) as places, activity, certainty,
    line_no, text
from timed
