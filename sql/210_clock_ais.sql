-- What must be subtracted from the clock of an AIStore file to get UTC, and how that is known.
-- grain: one row an AIStore log file
-- reads: ais_file, ais_line, ingested_file, clock_mark, clock_date, clock_absolute, threshold
-- stored: yes
-- note: What lines of its run do not prove, cluster maps tell that all nodes saw and batches that
-- note: all began: a new map reaches all within milliseconds, so a node nine hours off shows v9
-- note: nine hours later. Nodes known only against each other end with those whose UTC is known, as
-- note: logs collected together do: three agree and end at 15:07:15, a fourth, known to be at
-- note: UTC+1, ends at 15:07:05 = 14:07:05 UTC, so the three are at UTC+1 too. A file of which
-- note: nothing tells takes the zone of its run's other files, else of its node's, else the only
-- note: one of its cluster's nodes' zones in which it shows the hours that they do, unless it does
-- note: so as UTC as well: logs of one cluster are of one time; else the zone of two thirds of the
-- note: known nodes or more, where that are several.
create or replace view clock_ais as
with own as (
    select file_id, offset_ns, line_no, text, if(kind = 'utm', 'anchor', 'utc_marker') as method,
        if(kind = 'utm', 0.97, 0.99) as confidence
    from clock_absolute
    qualify row_number()
        over (partition by file_id order by (kind = 'utm'), vote_count desc, kind) = 1
),
file as (
    select
        f.file_id, f.cluster, f.node_id, f.is_utc, f.zone, f.date_method, f.run_ns,
        coalesce(o.offset_ns, mode(o.offset_ns order by o.offset_ns) over run) as offset_ns,
        o.method, coalesce(o.confidence, max(o.confidence) over run - 0.02) as confidence,
        o.line_no, o.text, coalesce(d.shift_ns, 0) as day_ns,
        d.method as day_method, d.line_no as day_line_no, d.text as day_text,
        i.first_ns + coalesce(d.shift_ns, 0) as first_ns,
        i.last_ns + coalesce(d.shift_ns, 0) as last_ns
    from ais_file as f
    left join ingested_file as i on i.file_id = f.file_id
    left join own as o on o.file_id = f.file_id
    left join clock_date as d on d.file_id = f.file_id
    window run
        as (partition by f.cluster, f.node_id, f.run_ns, if(f.run_ns is null, f.file_id, 0))
),
mark as (
    select file_id, key, local_ns, line_no, text, 'zone_residual_s' as residual
    from clock_mark
    where kind = 'smap'
    union all
    select file_id, '?/' || xid, local_ns, line_no, text, 'batch_residual_s'
    from ais_line
    where pattern = 'ais_get_batch_started' and xid is not null
),
sighting as (
    select
        f.file_id, f.node_id, f.is_utc, f.offset_ns, m.residual,
        replace(m.key, '?', f.cluster) as key, min(m.local_ns + f.day_ns) as local_ns,
        min(m.line_no) as line_no, arg_min(m.text, m.line_no) as text
    from mark as m
    join file as f on f.file_id = m.file_id
    group by all
),
known as (
    select key, min(local_ns - coalesce(offset_ns, 0)) as utc_ns
    from sighting
    where offset_ns is not null or is_utc
    group by key
),
majority as (
    select a.key, a.local_ns as utc_ns
    from sighting as a
    join sighting as b on b.key = a.key
        and abs(b.local_ns - a.local_ns)
            < (select value * 1000000000 from threshold where name = 'smap_residual_s')
    where a.key in (select key from sighting group by key having count(distinct node_id) > 1)
    group by a.key, a.file_id, a.local_ns
    qualify row_number()
        over (partition by a.key order by count(distinct b.node_id) desc, a.local_ns) = 1
),
difference as (
    select
        s.file_id, s.line_no, s.text, s.residual, k.key is not null as is_absolute,
        s.local_ns - coalesce(k.utc_ns, m.utc_ns) as gap_ns,
        (round(gap_ns / 900e9) * 900e9)::bigint as offset_ns
    from sighting as s
    join majority as m on m.key = s.key
    left join known as k on k.key = s.key
),
relative as (
    select
        d.file_id, d.offset_ns, bool_or(d.is_absolute) as is_absolute, min(d.line_no) as line_no,
        arg_min(d.text, d.line_no) as text
    from difference as d
    join threshold as p on p.name = d.residual
    where abs(d.gap_ns - d.offset_ns) < p.value * 1e9
        and (d.residual = 'zone_residual_s'
            or d.file_id not in (select file_id from clock_mark where kind = 'smap'))
    group by d.file_id, d.offset_ns
    qualify row_number()
        over (partition by d.file_id order by bool_or(d.is_absolute) desc, count(*) desc,
            abs(d.offset_ns), d.offset_ns)
            = 1
),
proven as (
    select cluster, node_id, mode(offset_ns order by offset_ns) as offset_ns
    from file
    where offset_ns is not null
    group by cluster, node_id
),
apart as (
    select f.cluster,
        max(f.last_ns - r.offset_ns)
            filter (where p.offset_ns is null) - max(f.last_ns - p.offset_ns) as gap_ns,
        (round(gap_ns / 900e9) * 900e9)::bigint as offset_ns
    from file as f
    left join proven as p on p.cluster = f.cluster and p.node_id = f.node_id
    left join relative as r on r.file_id = f.file_id and not r.is_absolute
    group by f.cluster
),
told as (
    select
        f.file_id, f.cluster, f.node_id, f.run_ns,
        coalesce(f.offset_ns, case when not r.is_absolute
            and abs(g.gap_ns - g.offset_ns) < p.value * 1e9
                then r.offset_ns + g.offset_ns end,
            r.offset_ns)
            as offset_ns,
        coalesce(f.method, 'anchor') as method,
        coalesce(f.confidence, case when r.is_absolute then 0.95 else 0.7 end) as confidence,
        case when f.offset_ns is null then r.line_no else f.line_no end as line_no,
        case when f.offset_ns is null then r.text else f.text end as text
    from file as f
    join threshold as p on p.name = 'zone_residual_s'
    left join relative as r on r.file_id = f.file_id
    left join apart as g on g.cluster = f.cluster
    where f.offset_ns is not null or r.file_id is not null
),
run_zone as (
    select cluster, node_id, run_ns, mode(offset_ns order by offset_ns) as offset_ns,
        least(max(confidence), 0.9) as confidence
    from told
    where run_ns is not null
    group by cluster, node_id, run_ns
),
node_zone as (
    select cluster, node_id, mode(offset_ns order by offset_ns) as offset_ns,
        least(max(confidence), 0.85) as confidence
    from told
    group by cluster, node_id
),
cluster_zone as (
    select cluster, offset_ns
    from (select cluster, offset_ns, count(*) as node_count,
        sum(count(*)) over (partition by cluster) as all_count
        from node_zone group by cluster, offset_ns)
    where node_count > 1 and node_count * 3 >= all_count * 2
),
span as (
    select f.cluster, min(f.first_ns - z.offset_ns) as first_ns,
        max(f.last_ns - z.offset_ns) as last_ns
    from file as f
    join node_zone as z on z.cluster = f.cluster and z.node_id = f.node_id
    group by f.cluster
),
fit as (
    select f.cluster, f.node_id, z.offset_ns
    from file as f join span as s on s.cluster = f.cluster
    join (select cluster, offset_ns from node_zone union select cluster, 0 from node_zone) as z
        on z.cluster = f.cluster
    where f.first_ns - z.offset_ns <= s.last_ns and f.last_ns - z.offset_ns >= s.first_ns
    qualify count(*) over (partition by f.file_id) = 1
),
fitting as (
    select cluster, node_id, min(offset_ns) as offset_ns from fit
    group by cluster, node_id having min(offset_ns) = max(offset_ns) and min(offset_ns) <> 0
),
joined as (
    select
        f.* exclude (offset_ns, method, confidence, line_no, text),
        case when f.is_utc then 0
            else coalesce(t.offset_ns, r.offset_ns, n.offset_ns, l.offset_ns, z.offset_ns, 0) end
            as offset_ns,
        case when t.file_id is not null then t.method
            when coalesce(r.offset_ns, n.offset_ns, l.offset_ns, z.offset_ns) is not null
                then 'anchor' end
            as method,
        coalesce(t.confidence, r.confidence, n.confidence,
            case when coalesce(l.offset_ns, z.offset_ns) is not null then 0.65 end)
            as confidence,
        coalesce(t.line_no, f.day_line_no) as line_no, coalesce(t.text, f.day_text) as text
    from file as f
    left join told as t on t.file_id = f.file_id
    left join run_zone as r on r.cluster = f.cluster and r.node_id = f.node_id
        and r.run_ns = f.run_ns
    left join node_zone as n on n.cluster = f.cluster and n.node_id = f.node_id
    left join fitting as l on l.cluster = f.cluster and l.node_id = f.node_id
    left join cluster_zone as z on z.cluster = f.cluster
)
select
    file_id,
    offset_ns - day_ns as shift_ns,
    (offset_ns / 1000000000)::bigint as zone_offset_s,
    case
        when zone is not null then 'given'
        when is_utc then 'utc_marker'
        else coalesce(method, day_method, date_method, 'assumed')
    end as method,
    case
        when is_utc then 0.99
        when confidence is not null then confidence
        when date_method = 'header' or day_method is not null then 0.6
        when date_method = 'file_name' then 0.5
        else 0.3
    end as confidence,
    line_no,
    text
from joined
