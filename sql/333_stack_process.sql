-- A process of a training job in a stack dump: which rank it is or works for, what kind of process it is, where it stands, what that is.
-- grain: one row a process in a dump
-- reads: stack_frame, worker_file, rank_identity, frame_rule
-- stored: yes
-- empty without: stack_frame
-- note: kind: trainer (a rank), worker (of a DataLoader), helper (another child of a rank), launcher, process (none of the job's). The rank is that of the dump's heading or file name, else of the log line with its process id, else that of its parent, else the task of `srun -l` where a task has one trainer. Native calls tell activities but are no part of calls. The innermost telling call counts; a bare lock or sleep counts where nothing else tells, and less. moment_no counts the times a rank was dumped, 1 = last; several forms of one dump are one time.
create or replace view stack_process as
with rule as (
    select p.function, p.source_file, arg_min(r.activity, r.position) as activity, arg_min(r.strength, r.position) as strength
    from (select distinct function, source_file, coalesce(source_file, '') as file from stack_frame where is_main) as p
    join frame_rule as r on regexp_matches(p.file, r.file) and regexp_matches(p.function, r.function) and not regexp_matches(p.function || ' ' || p.file, r.exception)
    group by p.function, p.source_file
),
frame as (
    select
        w.job_id, w.path, coalesce(s.taken_ns, w.modified_ns) as taken_ns, s.file_id, s.dump_no, s.pid, s.parent_pid, s.command, s.rank, s.host, s.task_no, s.frame_no, s.function, s.line_no,
        coalesce(s.source_file, '') as file, s.function || coalesce(' (' || s.source_file || ':' || s.source_line::varchar || ')', '') as text, r.activity,
        contains(s.text, '"name"') as is_json, s.source_file is null or regexp_matches(s.source_file, '\.py$|^<') as is_python,
        contains(file, 'torch/utils/data/_utils/worker') as is_loop, min(case when is_loop then s.frame_no end) over (partition by s.file_id, s.dump_no) as loop_no,
        r.strength = 'telling' and (loop_no is null or s.frame_no < loop_no) as is_telling, r.strength = 'faint' and loop_no is null as is_faint
    from stack_frame as s join worker_file as w on w.file_id = s.file_id
    left join rule as r on r.function = s.function and r.source_file is not distinct from s.source_file
    where s.is_main
),
process as (
    select
        job_id, file_id, dump_no, any_value(path) as path, any_value(taken_ns) as taken_ns, any_value(pid) as pid, any_value(parent_pid) as parent_pid, any_value(host) as host, any_value(task_no) as task_no,
        any_value(rank) as stated_rank, try_cast(nullif(regexp_extract(any_value(command), '--local[-_]rank[= ](\d+)', 1), '') as integer) as local_rank, bool_or(is_json) as is_json,
        list(function || case when file = '' then '' else ' (' || regexp_extract(file, '[^/]+$') || ')' end order by frame_no desc) filter (where is_python) as calls,
        list(text order by frame_no desc) filter (where is_python) as places,
        coalesce(arg_min(activity, frame_no) filter (where is_telling), arg_min(activity, frame_no) filter (where is_faint)) as inner_activity,
        coalesce(arg_min(line_no, frame_no) filter (where is_telling), arg_min(line_no, frame_no) filter (where is_faint), arg_min(line_no, frame_no)) as line_no,
        coalesce(arg_min(text, frame_no) filter (where is_telling), arg_min(text, frame_no) filter (where is_faint), arg_min(text, frame_no)) as text,
        case
            when inner_activity = 'storage_wait' and not bool_or(contains(file, 'aistore/')) then coalesce(arg_min(activity, frame_no) filter (where activity in ('log_upload', 'hub_wait')), inner_activity)
            when inner_activity = 'checkpoint' and bool_or(activity = 'data_loading') then 'data_loading'
            when coalesce(inner_activity, 'compute') = 'compute' and bool_or(activity = 'evaluation') then 'evaluation'
            else inner_activity
        end as activity,
        case when bool_or(is_telling) then 0.95 else 0.55 end as certainty,
        case
            when bool_or(is_loop) then 'worker'
            when bool_or(regexp_matches(file, 'torch/distributed/(run|launch)\.py|torch/distributed/launcher/api|distributed/elastic/agent/|deepspeed/launcher/|accelerate/commands/') or (contains(file, 'torch/multiprocessing/spawn') and regexp_matches(function, 'join$'))) and not bool_or(regexp_matches(function, '(^|\.)_wrap$')) then 'launcher'
            when bool_or(regexp_matches(file, 'multiprocessing/(resource_tracker|semaphore_tracker|forkserver|managers)|_inductor/compile_worker')) or regexp_extract(any_value(path), '_child(\d+)\.\w+$', 1) = any_value(pid)::varchar then 'helper'
        end as told_kind
    from frame
    group by job_id, file_id, dump_no
),
owned as (
    select
        p.*, case when told_kind is null and task_no is not null and count(*) filter (where told_kind is null) over (partition by p.job_id, p.file_id, task_no) = 1 then task_no end as task_rank,
        coalesce(p.stated_rank, i.rank, l.rank, task_rank) as own_rank
    from process as p
    left join rank_identity as i on i.job_id = p.job_id and i.kind = 'pid' and i.file_id is null and i.number = p.pid and (p.host is null or i.host is null or split_part(i.host, '.', 1) = split_part(p.host, '.', 1))
    left join rank_identity as l on l.job_id = p.job_id and l.kind = 'local' and l.file_id is null and l.number = p.local_rank
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
        case when told_kind is not null then told_kind when m.rank is not null and coalesce(o.own_rank, m.rank) = m.rank then 'helper' when o.own_rank is not null then 'trainer' else 'process' end as kind
    from owned as o
    left join parent as m on m.job_id = o.job_id and m.pid = o.parent_pid and m.host is not distinct from o.host
),
timed as (
    select *, coalesce(folder <> lag(folder) over turn or taken_ns > lag(taken_ns) over turn + 5000000000 or (file_id = lag(file_id) over turn and pid is not distinct from lag(pid) over turn), false)::integer as is_new
    from known
    window turn as (partition by job_id, rank, kind, case when kind <> 'trainer' then pid end order by taken_ns, path, dump_no)
)
select
    job_id, file_id, dump_no, pid, parent_pid, host, rank, kind, taken_ns,
    (1 + sum(is_new) over (partition by job_id, rank, kind, case when kind <> 'trainer' then pid end) - sum(is_new) over (partition by job_id, rank, kind, case when kind <> 'trainer' then pid end order by taken_ns, path, dump_no))::integer as moment_no,
    is_json, coalesce(calls, []) as calls, coalesce(places, []) as places, activity, certainty, line_no, text
from timed
