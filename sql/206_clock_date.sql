-- How many whole days the dates of an AIStore file must be moved.
-- grain: one row a file whose first dates were only guessed
-- reads: clock_mark, ais_file, ais_line, ingested_file, threshold
-- stored: yes
-- note: A stderr copy has no date of its own: the same line with the same time of day in a dated
-- note: file of the same node gives it, else the last day on which dated files of the node (of the
-- note: cluster, where it names no node) were written at that time of day. A copy is no younger
-- note: than its file.
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
),
placed as (
    select
        u.file_id, i.first_ns, g.first_ns - r.value::bigint * 1000000000 as since_ns,
        least(coalesce(m.shift_ns, 0),
            floor((g.last_ns - i.last_ns + r.value::bigint * 1000000000) / 86400e9)::bigint
                * 86400000000000) as shift_ns
    from undated as u
    join ingested_file as i on i.file_id = u.file_id
    join ais_file as f on f.cluster is not distinct from u.cluster and f.date_method <> 'mtime'
        and coalesce(f.node_id = u.node_id, u.node_id is null)
    join ingested_file as g on g.file_id = f.file_id
    join threshold as r on r.name = 'copy_reach_s'
    left join marked as m on m.file_id = u.file_id
    where not exists (select 1 from twin as t where t.file_id = u.file_id)
),
near as (
    select file_id, max(shift_ns) as shift_ns
    from placed
    where first_ns + shift_ns >= since_ns
    group by file_id
)
select file_id, shift_ns, line_no, text, 'anchor' as method
from twin
union all
select file_id, shift_ns, null, null, 'anchor'
from near
union all
select m.file_id, m.shift_ns, m.line_no, m.text, m.method
from marked as m
where not exists (select 1 from twin as t where t.file_id = m.file_id)
    and not exists (select 1 from near as n where n.file_id = m.file_id)
