-- A thread, not the main one, that stands in a client of the storage: it fetches ahead for the
-- others of its process.
-- grain: one row a process in a dump
-- reads: stack_frame, frame_rule
-- stored: yes
-- note: Threads that upload logs or ask a hub stand in the same clients and are none of these;
-- note: neither is one whose client has called the program's own code.
create or replace view reading_thread as
with rule as (
    select p.function, p.source_file, arg_min(r.activity, r.position) as activity
    from (select distinct function, source_file, coalesce(source_file, '') as file from stack_frame
        where not is_main)
        as p
    join frame_rule as r on r.activity in ('storage_wait', 'log_upload', 'hub_wait')
        and r.strength <> 'passage' and regexp_matches(p.file, r.file)
        and regexp_matches(p.function, r.function)
    group by p.function, p.source_file
),
frame as (
    select s.file_id, s.dump_no, s.thread_name, s.frame_no, s.line_no,
        s.function
            || coalesce(' (' || s.source_file || ':' || s.source_line::varchar || ')', '') as text,
        r.activity,
        regexp_matches(s.source_file, '\.py$|^<')
            and not regexp_matches(s.source_file,
                (select file from frame_rule where strength = 'passage'))
                as is_own
    from stack_frame as s
    left join rule as r on r.function = s.function
        and r.source_file is not distinct from s.source_file
    where not s.is_main
),
thread as (
    select file_id, dump_no, thread_name,
        min(frame_no) filter (where activity = 'storage_wait') as client_no,
        min(frame_no) filter (where is_own) as own_no,
        arg_min(line_no, frame_no) filter (where activity = 'storage_wait') as line_no,
        arg_min(text, frame_no) filter (where activity = 'storage_wait') as text,
        coalesce(bool_or(activity <> 'storage_wait'), false) as is_of_service
    from frame
    group by file_id, dump_no, thread_name
)
select file_id, dump_no, min(line_no) as line_no, arg_min(text, line_no) as text
from thread
where client_no < coalesce(own_no, 1000000) and not is_of_service
group by file_id, dump_no
