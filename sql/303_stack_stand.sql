-- What the main thread of a process in a stack dump stood in, and what kind of process its calls
-- show.
-- grain: one row a process in a dump
-- reads: stack_frame, worker_file, worker_event, frame_rule, clock, file_progress, last_step
-- stored: yes
-- note: told_kind: worker (of a DataLoader), launcher, helper; null where the calls do not tell.
-- note: Native calls tell activities but are no part of calls. Another thread that stands in a
-- note: client of the storage fetches ahead for the main one, unless it uploads logs or asks a
-- note: hub, or the client has called the program's own code. A main thread that is idle in a line
-- note: of the program may wait for a lock or sleep: CPython has no frame for either.
create or replace view stack_stand as
with rule as (
    select p.is_main, p.function, p.source_file, arg_min(r.activity, r.position) as activity,
        arg_min(r.strength, r.position) as strength
    from (select distinct is_main, function, source_file, coalesce(source_file, '') as file
        from stack_frame)
        as p
    join frame_rule as r on r.strength <> 'passage' and regexp_matches(p.file, r.file)
        and (p.is_main or r.activity in ('storage_wait', 'log_upload', 'hub_wait'))
        and regexp_matches(p.function, r.function)
        and not regexp_matches(p.function || ' ' || p.file, r.exception)
    group by p.is_main, p.function, p.source_file
),
call as (
    select s.*, r.activity, r.strength, coalesce(s.source_file, '') as file,
        s.function || coalesce(' (' || s.source_file || ':' || s.source_line::varchar || ')', '')
            as place,
        s.source_file is null or regexp_matches(s.source_file, '\.py$|^<') as is_python,
        is_python and not regexp_matches(file,
            (select file from frame_rule where strength = 'passage')) as is_own
    from stack_frame as s
    left join rule as r on r.is_main = s.is_main and r.function = s.function
        and r.source_file is not distinct from s.source_file
),
thread as (
    select
        file_id, dump_no, thread_name,
        min(frame_no) filter (where not is_main and is_own) as own_no,
        min(frame_no) filter (where not is_main and activity = 'storage_wait') as client_no,
        arg_min(line_no, frame_no)
            filter (where not is_main and activity = 'storage_wait') as client_line_no,
        arg_min(place, frame_no)
            filter (where not is_main and activity = 'storage_wait') as client_place,
        coalesce(bool_or(not is_main and activity <> 'storage_wait'), false) as is_of_service
    from call
    group by file_id, dump_no, thread_name
),
reader as (
    select file_id, dump_no, min(client_line_no) as line_no,
        arg_min(client_place, client_line_no) as text
    from thread
    where client_no < coalesce(own_no, 1000000) and not is_of_service
    group by file_id, dump_no
),
frame as (
    select
        w.job_id, w.path, w.path_attempt + s.attempt_no as attempt,
        s.local_ns - case when s.zone_offset_s is null then k.shift_ns else 0 end as utc_ns,
        w.path_rank, w.path_local_rank, coalesce(s.taken_ns, utc_ns, w.modified_ns) as taken_ns,
        s.file_id, s.dump_no, s.pid, s.parent_pid, s.command, s.rank, s.host, s.task_no, s.frame_no,
        s.function, s.line_no, s.file, s.place as text, s.activity, s.text as raw,
        contains(s.text, '"name"') as is_json, s.is_python,
        contains(s.file, 'torch/utils/data/_utils/worker') as is_loop,
        min(case when is_loop then s.frame_no end)
            over (partition by s.file_id, s.dump_no) as loop_no,
        min(case when s.is_own then s.frame_no end)
            over (partition by s.file_id, s.dump_no) as own_no,
        (s.strength = 'telling'
            or (s.strength = 'inner'
                and s.frame_no = min(case when s.is_python then s.frame_no end)
                    over (partition by s.file_id, s.dump_no)))
            and (loop_no is null or s.frame_no < loop_no)
            and (s.activity <> 'storage_wait' or own_no is null or own_no > s.frame_no)
                as is_telling,
        s.owns_gil, s.is_active, s.strength = 'faint' and loop_no is null as is_faint
    from call as s join worker_file as w on w.file_id = s.file_id
    left join clock as k on k.file_id = s.file_id and s.local_ns is not null
    left join last_step as t on t.job_id = w.job_id and t.attempt = w.path_attempt + s.attempt_no
    left join file_progress as g on g.job_id = w.job_id
        and g.attempt = w.path_attempt + s.attempt_no and g.file_id = s.file_id
        and g.line_no > s.line_no
    asof
        left join (select file_id, line_no, utc_ns as next_ns from worker_event
            where stamp_source in ('own', 'wrapper'))
            as e
            on e.file_id = s.file_id
            and e.line_no >= s.line_no
    where s.is_main
        and coalesce(
            case when g.file_id is not null then utc_ns else coalesce(e.next_ns, utc_ns) end
            + 10000000000 >= t.step_ns,
            true)
),
process as (
    select
        job_id, file_id, dump_no, any_value(attempt) as attempt, any_value(path_rank) as path_rank,
        any_value(path) as path, any_value(taken_ns) as taken_ns, any_value(pid) as pid,
        any_value(parent_pid) as parent_pid, any_value(host) as host, any_value(task_no) as task_no,
        any_value(rank) as stated_rank,
        coalesce(
            try_cast(nullif(regexp_extract(any_value(command), '--local[-_]rank[= ](\d+)', 1), '')
                as integer),
            case when any_value(pid) is null
                and any_value(attempt) is not null
                    then coalesce(
                        try_cast(regexp_extract(any_value(raw), '^\[[A-Za-z][\w-]*?(\d{1,3})\]:', 1)
                            as integer),
                        any_value(path_local_rank)) end)
            as local_rank,
        bool_or(is_json) as is_json,
        list(function
            || case when file = '' then '' else ' (' || regexp_extract(file, '[^/]+$') || ')' end
            order by frame_no desc)
            filter (where is_python) as calls,
        list(text order by frame_no desc) filter (where is_python) as places,
        coalesce(arg_min(activity, frame_no) filter (where is_telling),
            arg_min(activity, frame_no) filter (where is_faint))
            as inner_activity,
        coalesce(arg_min(line_no, frame_no) filter (where is_telling),
            arg_min(line_no, frame_no) filter (where is_faint), arg_min(line_no, frame_no))
            as line_no,
        coalesce(arg_min(text, frame_no) filter (where is_telling),
            arg_min(text, frame_no) filter (where is_faint), arg_min(text, frame_no))
            as text,
        arg_min(coalesce(activity, ''), frame_no)
            filter (where is_python and not coalesce(is_faint, false)) as called_activity,
        inner_activity is null and bool_or(is_active) and bool_or(is_python) as is_at_work,
        case
            when inner_activity = 'storage_wait'
                and not bool_or(contains(file, 'aistore/'))
                    then coalesce(arg_min(activity, frame_no)
                        filter (where activity in ('log_upload', 'hub_wait', 'another_service')),
                        inner_activity)
            when called_activity in ('log_upload', 'hub_wait')
                and not bool_or(is_telling) then called_activity
            when inner_activity = 'checkpoint'
                and bool_or(activity = 'data_loading') then 'data_loading'
            when inner_activity = 'data_loading' and bool_or(owns_gil) then 'batch_preparation'
            when inner_activity = 'batch_preparation'
                and (min(frame_no) filter (where activity = 'lock') < min(frame_no)
                    filter (where is_telling)
                    or regexp_matches(arg_min(file, frame_no) filter (where is_python),
                        '(^|/)(socket|ssl|selectors)\.py$'))
                    then 'data_loading'
            when coalesce(inner_activity, 'compute') = 'compute'
                and bool_or(activity = 'evaluation') then 'evaluation'
            when is_at_work then 'compute'
            else inner_activity
        end as activity,
        case when bool_or(is_telling) or called_activity in ('log_upload', 'hub_wait') then 0.95
            when is_at_work then 0.7 else 0.55 end
            as certainty,
        case
            when bool_or(is_loop) then 'worker'
            when bool_or(
                regexp_matches(file,
                    'torch/distributed/(run|launch)\.py|torch/distributed/launcher/api'
                        '|distributed/elastic/agent/|deepspeed/launcher/|accelerate/commands/')
                or (contains(file, 'torch/multiprocessing/spawn')
                    and regexp_matches(function, 'join$')))
                and not bool_or(regexp_matches(function, '(^|\.)_wrap$')) then 'launcher'
            when bool_or(
                regexp_matches(file,
                    'multiprocessing/(resource_tracker|semaphore_tracker|forkserver|managers)'
                        '|_inductor/compile_worker'))
                or regexp_extract(any_value(path), '_child(\d+)\.\w+$', 1) = any_value(pid)::varchar
                    then 'helper'
        end as told_kind
    from frame
    group by job_id, file_id, dump_no
)
select
    p.job_id, p.file_id, p.dump_no, p.attempt, p.path_rank, p.path, p.taken_ns, p.pid, p.parent_pid,
    p.host, p.task_no, p.stated_rank, p.local_rank, p.is_json, p.calls, p.places, p.told_kind,
    case when t.file_id is not null then 'storage_wait' else p.activity end as activity,
    case when t.file_id is not null then 0.8 else p.certainty end as certainty,
    coalesce(t.line_no, p.line_no) as line_no, coalesce(t.text, p.text) as text
from process as p
left join reader as t on t.file_id = p.file_id and t.dump_no = p.dump_no
    and coalesce(p.activity, 'lock') in ('batch_preparation', 'data_loading', 'lock', 'sleep')
    and coalesce(p.told_kind, 'worker') = 'worker'
