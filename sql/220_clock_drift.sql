-- Seconds by which the clock of an AIStore node runs ahead of the other nodes or of the jobs,
-- beyond its zone.
-- grain: one row an AIStore log file whose clock is off
-- reads: ais_file, ais_line, clock_mark, clock_ais, clock_worker, worker_line, threshold
-- stored: yes
-- note: A new cluster map reaches all nodes within milliseconds, so a node that sees it seconds
-- note: late each time has another clock; three nodes must have seen it.
create or replace view clock_drift as
with slack as (
    select max(value) filter (where name = 'drift_s') * 1e9 as ns,
        max(value) filter (where name = 'zone_step_s') * 1e9 / 2 as limit_ns
    from threshold
),
sighting as (
    select f.cluster, f.node_id, replace(m.key, '?', f.cluster) as key,
        min(m.local_ns - c.shift_ns) as utc_ns
    from clock_mark as m
    join ais_file as f on f.file_id = m.file_id
    join clock_ais as c on c.file_id = m.file_id
    where m.kind = 'smap'
    group by f.cluster, f.node_id, replace(m.key, '?', f.cluster)
),
apart as (
    select cluster, node_id, utc_ns - median(utc_ns) over (partition by key) as gap_ns,
        count(*) over (partition by key) as node_count
    from sighting
),
node_drift as (
    select a.cluster, a.node_id, median(a.gap_ns) as drift_ns
    from apart as a
    cross join slack as s
    where a.node_count >= 3
    group by a.cluster, a.node_id, s.ns, s.limit_ns
    having abs(median(a.gap_ns)) between s.ns and s.limit_ns
        and max(a.gap_ns) - min(a.gap_ns) <= s.ns
),
server as (
    select f.cluster, a.wid, a.age_ns, a.local_ns - c.shift_ns - coalesce(d.drift_ns, 0) as utc_ns,
        regexp_matches(a.text, '(send|assemble) wid=|broken pipe|transmit GET|stale or unknown')
            as is_late
    from ais_line as a
    join ais_file as f on f.file_id = a.file_id
    join clock_ais as c on c.file_id = a.file_id
    left join node_drift as d on d.cluster = f.cluster and d.node_id = f.node_id
    where a.wid is not null
),
client as (
    select w.file_id, w.line_no, w.wid, w.text,
        w.local_ns - case when w.zone_offset_s is null then c.shift_ns else 0 end as utc_ns
    from worker_line as w
    join clock_worker as c on c.file_id = w.file_id
    where w.stamp_source in ('own', 'wrapper') and w.wid is not null
),
pair as (
    select s.cluster, c.file_id, c.line_no,
        arg_min(s.utc_ns - c.utc_ns, abs(s.utc_ns - c.utc_ns)) as gap_ns
    from client as c
    join server as s on s.wid = c.wid and not s.is_late
    where not regexp_matches(c.text, 'timed out|timeout')
    group by s.cluster, c.file_id, c.line_no
    union all
    select s.cluster, c.file_id, c.line_no,
        s.utc_ns - s.age_ns
            - (c.utc_ns - regexp_extract(c.text, 'read timeout=(\d+)', 1)::bigint * 1000000000)
            as gap_ns
    from client as c
    join server as s on s.wid = c.wid and s.age_ns is not null
    where regexp_matches(c.text, 'read timeout=\d+')
),
cluster_drift as (
    select p.cluster, median(p.gap_ns) as drift_ns
    from pair as p
    cross join slack as s
    where abs(p.gap_ns) <= s.limit_ns
    group by p.cluster, s.ns
    having abs(median(p.gap_ns)) >= s.ns
        and quantile_cont(p.gap_ns, 0.75) - quantile_cont(p.gap_ns, 0.25) <= s.ns
)
select
    f.file_id,
    (coalesce(n.drift_ns, 0) + coalesce(g.drift_ns, 0))::bigint as drift_ns
from ais_file as f
left join node_drift as n on n.cluster = f.cluster and n.node_id = f.node_id
left join cluster_drift as g on g.cluster = f.cluster
where n.node_id is not null or g.cluster is not null
