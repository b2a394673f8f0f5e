-- How the times of a file became UTC.
-- grain: one row an ingested log
-- reads: ingested_file, ais_file, ais_line, worker_line, clock_mark, clock_ais, clock_worker,
-- reads: clock_cluster, threshold
-- public: yes
-- stored: yes
-- note: offset_s is what was subtracted: seconds east of UTC, plus whole days where the file had no
-- note: date, plus seconds by which an AIStore node was measured to be off. A Flight Recorder dump
-- note: counts nanoseconds since 1970; the record of a pull states UTC, a saved node_status states
-- note: no time. A new cluster map reaches all nodes within milliseconds, so a node that sees it
-- note: seconds late each time has another clock; three nodes must have seen it. Requests that both
-- note: sides name show how far the whole cluster is off.
create or replace view clock as
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
),
every as (
    select
        a.file_id,
        a.shift_ns + (coalesce(n.drift_ns, 0) + coalesce(g.drift_ns, 0))::bigint
            + coalesce(z.zone_s * 1000000000, 0) as shift_ns,
        a.zone_offset_s + coalesce(z.zone_s, 0) as zone_offset_s,
        case when z.cluster is not null then 'anchor' else a.method end as method,
        coalesce(z.confidence, a.confidence) as confidence,
        case when z.cluster is null then a.line_no end as line_no, coalesce(z.text, a.text) as text,
        null::bigint as against_ns
    from clock_ais as a
    left join ais_file as f on f.file_id = a.file_id
    left join clock_cluster as z on z.cluster = f.cluster
    left join node_drift as n on n.cluster = f.cluster and n.node_id = f.node_id
    left join cluster_drift as g on g.cluster = f.cluster
    union all
    select file_id, shift_ns, zone_offset_s, method, confidence, line_no, text, against_ns
        from clock_worker
)
select
    f.file_id,
    f.path,
    f.kind,
    f.zone as timezone,
    coalesce(e.shift_ns, 0) as shift_ns,
    (coalesce(e.shift_ns, 0) / 1000000000)::bigint as offset_s,
    coalesce(e.zone_offset_s, 0) as zone_offset_s,
    coalesce(e.method, case
        when f.kind = 'flight_recorder'
            or (f.kind = 'node_status' and f.date_method = 'stamp') then 'utc_marker'
        when f.kind = 'node_status' then 'mtime'
        else 'assumed'
    end) as method,
    round(
        coalesce(e.confidence,
            case when f.kind = 'flight_recorder'
                or (f.kind = 'node_status' and f.date_method = 'stamp') then 1.0
                else 0.5 end)::double,
        2)
        as confidence,
    (e.against_ns / 1000000000)::bigint as against_s,
    e.line_no,
    e.text as evidence
from ingested_file as f
left join every as e on e.file_id = f.file_id
where f.state = 'ingested' and f.kind <> 'unknown'
