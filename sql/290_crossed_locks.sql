-- A process whose main thread stands still in the program's own code, as another thread of it does
-- in the same file: they wait for each other.
-- grain: one row a process in a dump
-- reads: stack_frame
-- stored: yes
-- note: py-spy says which threads run. What waits for a lock shows no call of the lock (CPython has
-- note: no frame for it), only the line that takes it, while a call of a client, a queue or a sleep
-- note: has frames of its own. So two threads that are idle, with no library on top, in one file of
-- note: the program, while no thread runs, hold what the other wants.
create or replace view crossed_locks as
with top as (
    select
        file_id, dump_no, thread_name, bool_or(is_main) as is_main, bool_or(is_active) as is_active,
        arg_min(source_file, frame_no) as source_file, arg_min(line_no, frame_no) as line_no,
        arg_min(function || coalesce(' (' || source_file || ':' || source_line::varchar || ')', ''),
            frame_no)
            as text
    from stack_frame
    group by file_id, dump_no, thread_name
),
still as (
    select *, not is_active and regexp_matches(source_file, '^(/.*/)?[\w.-]+\.py$')
        and not regexp_matches(source_file,
            '(site|dist)-packages|lib/python|^(threading|queue|selectors|socket|ssl'
                '|subprocess)\.py$')
            as is_own
    from top
)
select m.file_id, m.dump_no, min(m.line_no) as line_no, arg_min(m.text, m.line_no) as text
from still as m
join still as o on o.file_id = m.file_id and o.dump_no = m.dump_no and o.source_file = m.source_file
    and o.thread_name <> m.thread_name and o.is_own
where m.is_main and m.is_own
    and not exists (select 1 from top as t
        where t.file_id = m.file_id and t.dump_no = m.dump_no and t.is_active)
group by m.file_id, m.dump_no
