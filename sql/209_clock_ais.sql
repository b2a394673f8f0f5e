-- What must be subtracted from the clock of an AIStore file to get UTC, and how that is known.
-- grain: one row an AIStore log file
-- reads: ais_file, ingested_file, clock_run, clock_date, clock_relative, clock_group, file_run
-- stored: yes
-- empty without: ais_file
-- note: A file without evidence takes the zone of its run's other files, else of its node's, else of the cluster's nodes where several are known and all have the same, else of the only known one if their clocks then show the same hours and as UTC did not: logs of one cluster are of one time. Nodes known only against each other are shifted by what clock_group tells.
create or replace view clock_ais as
with told as (
    select file_id, offset_ns, method, confidence, line_no, text from clock_run
    union all
    select r.file_id, r.offset_ns + case when r.is_absolute then 0 else coalesce(g.shift_ns, 0) end, 'anchor', case when r.is_absolute then 0.95 else 0.7 end, r.line_no, r.text
    from clock_relative as r
    join ais_file as f on f.file_id = r.file_id
    left join clock_group as g on g.cluster = f.cluster
    where not exists (select 1 from clock_run as o where o.file_id = r.file_id)
),
run_zone as (
    select r.cluster, r.node_id, r.run_ns, mode(t.offset_ns order by t.offset_ns) as offset_ns, least(max(t.confidence), 0.9) as confidence
    from told as t
    join file_run as r on r.file_id = t.file_id and r.run_ns is not null
    group by r.cluster, r.node_id, r.run_ns
),
node_zone as (
    select f.cluster, f.node_id, mode(t.offset_ns order by t.offset_ns) as offset_ns, least(max(t.confidence), 0.85) as confidence
    from told as t join ais_file as f on f.file_id = t.file_id
    group by f.cluster, f.node_id
),
cluster_zone as (
    select cluster, min(offset_ns) as offset_ns from node_zone
    group by cluster having min(offset_ns) = max(offset_ns) and count(*) > 1
),
span as (
    select f.file_id, f.cluster, f.node_id, i.first_ns + coalesce(d.shift_ns, 0) as first_ns, i.last_ns + coalesce(d.shift_ns, 0) as last_ns
    from ais_file as f join ingested_file as i on i.file_id = f.file_id left join clock_date as d on d.file_id = f.file_id
),
lone_zone as (
    select s.file_id, k.offset_ns
    from span as s
    join (
        select z.cluster, min(z.offset_ns) as offset_ns, min(o.first_ns) as first_ns, max(o.last_ns) as last_ns from node_zone as z
        join span as o on o.cluster = z.cluster and o.node_id = z.node_id
        group by z.cluster having count(distinct z.node_id) = 1
    ) as k on k.cluster = s.cluster
    where s.first_ns <= k.last_ns and s.last_ns >= k.first_ns and not (s.first_ns <= k.last_ns - k.offset_ns and s.last_ns >= k.first_ns - k.offset_ns)
),
joined as (
    select
        f.file_id, f.is_utc, f.zone, f.date_method,
        coalesce(d.shift_ns, 0) as date_shift_ns, d.method as date_shift_method,
        case when f.is_utc then 0 else coalesce(t.offset_ns, r.offset_ns, n.offset_ns, z.offset_ns, l.offset_ns, 0) end as offset_ns,
        case when t.file_id is not null then t.method when coalesce(r.offset_ns, n.offset_ns, z.offset_ns, l.offset_ns) is not null then 'anchor' end as method,
        coalesce(t.confidence, r.confidence, n.confidence, case when coalesce(z.offset_ns, l.offset_ns) is not null then 0.65 end) as confidence,
        coalesce(t.line_no, d.line_no) as line_no, coalesce(t.text, d.text) as text
    from ais_file as f
    left join clock_date as d on d.file_id = f.file_id
    left join told as t on t.file_id = f.file_id
    left join file_run as k on k.file_id = f.file_id
    left join run_zone as r on r.cluster = k.cluster and r.node_id = k.node_id and r.run_ns = k.run_ns
    left join node_zone as n on n.cluster = f.cluster and n.node_id = f.node_id
    left join cluster_zone as z on z.cluster = f.cluster left join lone_zone as l on l.file_id = f.file_id
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
