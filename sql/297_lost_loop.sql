-- A forked process whose main thread waits for fsspec's thread of input and output, which does not exist in it.
-- grain: one row a process in a dump
-- reads: stack_frame
-- stored: yes
-- note: fsspec hands requests to one thread that runs a loop of asyncio. A process forked after it began has the handle and not the thread, and waits in sync() without end, with no request on its way (fsspec's documentation on async, "fork"). A dump lists all threads of a process, so the loop would show.
create or replace view lost_loop as
select
    file_id, dump_no,
    arg_min(line_no, frame_no) filter (where is_waiting) as line_no,
    arg_min(function || ' (' || source_file || ':' || source_line::varchar || ')', frame_no) filter (where is_waiting) as text
from (select *, coalesce(is_main and function = 'sync' and contains(source_file, 'fsspec/asyn'), false) as is_waiting from stack_frame)
group by file_id, dump_no
having bool_or(is_waiting)
    and bool_or(is_main and contains(source_file, 'multiprocessing/popen_fork'))
    and not coalesce(bool_or(regexp_matches(source_file, '(^|/)(asyncio/|uvloop/|(selectors|socket|ssl)\.py)')), false)
