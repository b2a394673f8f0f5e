-- How many whole days the dates of an AIStore file must be moved.
-- grain: one row a file whose first dates were only guessed
-- reads: clock_mark, ais_file, ais_line
-- stored: yes
-- note: A stderr copy has no date of its own: the same line with the same time of day in a dated
-- note: file of the same node tells it.
create or replace view clock_date as
with marked as (
    select
        file_id,
        arg_min(utc_ns - local_ns, line_no) as shift_ns,
        min(line_no) as line_no,
        arg_min(text, line_no) as text,
        'header' as method
    from clock_mark
    where kind = 'date_shift'
    group by file_id
),
undated as (
    select f.file_id, f.node_id, f.cluster
    from ais_file as f
    where f.date_method = 'mtime'
        and not exists (select 1 from marked as m where m.file_id = f.file_id and m.line_no > 0)
),
twin as (
    select
        u.file_id,
        b.local_ns - a.local_ns as shift_ns,
        count(*) as vote_count,
        min(a.line_no) as line_no,
        arg_min(a.text, a.line_no) as text
    from undated as u
    join ais_line as a on a.file_id = u.file_id and a.severity in ('W', 'E')
    join ais_file as f on f.node_id = u.node_id and f.file_id <> u.file_id
        and f.date_method <> 'mtime'
    join ais_line as b on b.file_id = f.file_id and b.severity = a.severity and b.text = a.text
    where (b.local_ns - a.local_ns) % 86400000000000 = 0
    group by u.file_id, b.local_ns - a.local_ns
    qualify row_number()
        over (partition by u.file_id order by count(*) desc, abs(b.local_ns - a.local_ns),
            b.local_ns - a.local_ns)
            = 1
)
select file_id, shift_ns, line_no, text, 'anchor' as method
from twin
union all
select m.file_id, m.shift_ns, m.line_no, m.text, m.method
from marked as m
where not exists (select 1 from twin as t where t.file_id = m.file_id)
