-- The clock of an AIStore file against UTC or against the other nodes, from cluster maps that all
-- of them saw and batches that all of them began.
-- grain: one row an AIStore log file with a sighting of something that another node saw too
-- reads: ais_file, ais_line, clock_run, clock_date, clock_mark, threshold
-- stored: yes
-- note: A new cluster map reaches all nodes within milliseconds, so a node nine hours off shows v9
-- note: nine hours later than the others.
create or replace view clock_relative as
with sighting as (
    select
        m.file_id,
        f.node_id,
        replace(m.key, '?', f.cluster) as key,
        min(m.local_ns + coalesce(d.shift_ns, 0)) as local_ns,
        min(m.line_no) as line_no,
        arg_min(m.text, m.line_no) as text,
        any_value(p.value * 1000000000) as residual_ns,
        false as is_batch
    from clock_mark as m
    join ais_file as f on f.file_id = m.file_id
    left join clock_date as d on d.file_id = m.file_id
    join threshold as p on p.name = 'zone_residual_s'
    where m.kind = 'smap'
    group by m.file_id, f.node_id, replace(m.key, '?', f.cluster)
    union all
    select l.file_id, f.node_id, f.cluster || '/' || l.xid as key,
        min(l.local_ns + coalesce(d.shift_ns, 0)), min(l.line_no), arg_min(l.text, l.line_no),
        any_value(p.value * 1000000000), true
    from ais_line as l
    join ais_file as f on f.file_id = l.file_id
    left join clock_date as d on d.file_id = l.file_id
    join threshold as p on p.name = 'batch_residual_s'
    where l.pattern = 'ais_get_batch_started' and l.xid is not null
    group by l.file_id, f.node_id, f.cluster || '/' || l.xid
),
known as (
    select s.key, min(s.local_ns - coalesce(r.offset_ns, 0)) as utc_ns
    from sighting as s
    join ais_file as f on f.file_id = s.file_id
    left join clock_run as r on r.file_id = s.file_id
    where r.file_id is not null or f.is_utc
    group by s.key
),
majority as (
    select a.key, a.local_ns as utc_ns
    from sighting as a
    join sighting as b on b.key = a.key
        and abs(b.local_ns - a.local_ns)
            < (select value * 1000000000 from threshold where name = 'smap_residual_s')
    where a.key
        in (select s.key from sighting as s group by s.key having count(distinct s.node_id) > 1)
    group by a.key, a.file_id, a.local_ns
    qualify row_number()
        over (partition by a.key order by count(distinct b.node_id) desc, a.local_ns) = 1
),
difference as (
    select
        s.file_id,
        s.line_no,
        s.text,
        s.residual_ns,
        s.is_batch,
        s.local_ns - coalesce(k.utc_ns, m.utc_ns) as gap_ns,
        (round((s.local_ns - coalesce(k.utc_ns, m.utc_ns)) / 900e9) * 900e9)::bigint as offset_ns,
        k.key is not null as is_absolute
    from sighting as s
    join majority as m on m.key = s.key
    left join known as k on k.key = s.key
)
select
    file_id,
    offset_ns,
    bool_or(is_absolute) as is_absolute,
    count(*) as vote_count,
    min(line_no) as line_no,
    arg_min(text, line_no) as text
from difference
where abs(gap_ns - offset_ns) < residual_ns
    and (not is_batch or file_id not in (select file_id from clock_mark where kind = 'smap'))
group by file_id, offset_ns
qualify row_number()
    over (partition by file_id order by bool_or(is_absolute) desc, count(*) desc, abs(offset_ns),
        offset_ns)
        = 1
