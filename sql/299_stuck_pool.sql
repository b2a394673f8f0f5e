-- A process all of whose pool threads wait for results of such threads: what they wait for can never begin.
-- grain: one row a process in a dump
-- reads: stack_frame, frame_rule
-- stored: yes
-- note: A task of a pool that waits for another task of the same pool holds a thread while the other needs one; when all do, nothing goes on, and no storage is asked for anything. That is so where each thread of some pool waits in the result of a future, and no other thread of the process does anything that could bring one: none is at work in a pool, in a loop of asyncio, at a socket or in a client of storage.
create or replace view stuck_pool as
with thread as (
    select
        file_id, dump_no, thread_name, regexp_extract(thread_name, '^(.*)_\d+$', 1) as pool,
        bool_or(contains(source_file, 'concurrent/futures/thread')) as is_pool,
        min(frame_no) filter (where function = 'result' and contains(source_file, 'concurrent/futures/_base')) as result_no,
        min(frame_no) filter (where is_own) as own_no,
        arg_min(line_no, frame_no) filter (where is_own) as line_no,
        arg_min(function || coalesce(' (' || source_file || ':' || source_line::varchar || ')', ''), frame_no) filter (where is_own) as text,
        coalesce(bool_or(regexp_matches(source_file, '(^|/)(asyncio/|(selectors|socket|ssl)\.py)') or regexp_matches(source_file, (select file from frame_rule where activity = 'storage_wait' and strength = 'telling'))), false) as is_outside
    from (select *, not regexp_matches(coalesce(source_file, '<'), '(^|/)(threading|queue)\.py$|concurrent/futures/|^<') as is_own from stack_frame where not is_main)
    group by file_id, dump_no, thread_name
),
pool as (
    select
        file_id, dump_no, pool, bool_and(coalesce(result_no < own_no, false)) as is_stuck, bool_or(own_no is not null and coalesce(result_no > own_no, true)) as is_at_work,
        count(*) as thread_count, min(line_no) as line_no, arg_min(text, line_no) as text
    from thread
    where is_pool
    group by file_id, dump_no, pool
)
select file_id, dump_no, sum(thread_count) filter (where is_stuck)::integer as thread_count, min(line_no) filter (where is_stuck) as line_no, arg_min(text, line_no) filter (where is_stuck) as text
from pool
where (file_id, dump_no) not in (select (file_id, dump_no) from thread where is_outside)
group by file_id, dump_no
having bool_or(is_stuck) and not bool_or(is_at_work)
