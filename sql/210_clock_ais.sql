-- What must be subtracted from the clock of an AIStore file to get UTC, and how that is known.
-- grain: one row an AIStore log file
-- reads: ais_file, ingested_file, clock_date, clock_told, file_run
-- stored: yes
-- note: A file of which nothing tells takes the zone of its run's other files, else of its node's,
-- note: else the only one of its cluster's nodes' zones in which it shows the hours that they do,
-- note: unless it does so as UTC as well: logs of one cluster are of one time; else the zone of two
-- note: thirds of the known nodes or more, where that are several.
create or replace view clock_ais as
with run_zone as (
    select r.cluster, r.node_id, r.run_ns, mode(t.offset_ns order by t.offset_ns) as offset_ns,
        least(max(t.confidence), 0.9) as confidence
    from clock_told as t
    join file_run as r on r.file_id = t.file_id and r.run_ns is not null
    group by r.cluster, r.node_id, r.run_ns
),
node_zone as (
    select f.cluster, f.node_id, mode(t.offset_ns order by t.offset_ns) as offset_ns,
        least(max(t.confidence), 0.85) as confidence
    from clock_told as t join ais_file as f on f.file_id = t.file_id
    group by f.cluster, f.node_id
),
cluster_zone as (
    select cluster, offset_ns
    from (select cluster, offset_ns, count(*) as node_count,
        sum(count(*)) over (partition by cluster) as all_count
        from node_zone group by cluster, offset_ns)
    where node_count > 1 and node_count * 3 >= all_count * 2
),
span as (
    select f.file_id, f.cluster, f.node_id, i.first_ns + coalesce(d.shift_ns, 0) as first_ns,
        i.last_ns + coalesce(d.shift_ns, 0) as last_ns
    from ais_file as f join ingested_file as i on i.file_id = f.file_id
        left join clock_date as d on d.file_id = f.file_id
),
known as (
    select s.cluster, min(s.first_ns - z.offset_ns) as first_ns,
        max(s.last_ns - z.offset_ns) as last_ns
    from span as s
    join node_zone as z on z.cluster = s.cluster and z.node_id = s.node_id
    group by s.cluster
),
fit as (
    select s.cluster, s.node_id, z.offset_ns
    from span as s join known as k on k.cluster = s.cluster
    join (select cluster, offset_ns from node_zone union select cluster, 0 from node_zone) as z
        on z.cluster = s.cluster
    where s.first_ns - z.offset_ns <= k.last_ns and s.last_ns - z.offset_ns >= k.first_ns
    qualify count(*) over (partition by s.file_id) = 1
),
fitting as (
    select cluster, node_id, min(offset_ns) as offset_ns from fit
    group by cluster, node_id having min(offset_ns) = max(offset_ns) and min(offset_ns) <> 0
),
joined as (
    select
        f.file_id, f.is_utc, f.zone, f.date_method,
        coalesce(d.shift_ns, 0) as date_shift_ns, d.method as date_shift_method,
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
        coalesce(t.line_no, d.line_no) as line_no, coalesce(t.text, d.text) as text
    from ais_file as f
    left join clock_date as d on d.file_id = f.file_id
    left join clock_told as t on t.file_id = f.file_id
    left join file_run as k on k.file_id = f.file_id
    left join run_zone as r on r.cluster = k.cluster and r.node_id = k.node_id
        and r.run_ns = k.run_ns
    left join node_zone as n on n.cluster = f.cluster and n.node_id = f.node_id
    left join fitting as l on l.cluster = f.cluster and l.node_id = f.node_id
    left join cluster_zone as z on z.cluster = f.cluster
)
select
    file_id,
    offset_ns - date_shift_ns as shift_ns,
    (offset_ns / 1000000000)::bigint as zone_offset_s,
    case
        when zone is not null then 'given'
        when is_utc then 'utc_marker'
        else coalesce(method, date_shift_method, date_method, 'assumed')
    end as method,
    case
        when is_utc then 0.99
        when confidence is not null then confidence
        when date_method = 'header' or date_shift_method is not null then 0.6
        when date_method = 'file_name' then 0.5
        else 0.3
    end as confidence,
    line_no,
    text
from joined
