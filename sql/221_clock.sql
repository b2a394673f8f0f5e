-- How the times of a file became UTC.
-- grain: one row an ingested log
-- reads: ingested_file, ais_file, ais_line, worker_file, worker_line, worker_tail, clock_mark,
-- reads: clock_ais, clock_worker, clock_job_name, cluster_load, job_storage, zone_choice, threshold
-- public: yes
-- stored: yes
-- note: offset_s is what was subtracted: seconds east of UTC, plus whole days where the file had no
-- note: date, plus seconds by which an AIStore node was measured to be off. A Flight Recorder dump
-- note: counts nanoseconds since 1970; the record of a pull states UTC, a saved node_status states
-- note: no time. A new cluster map reaches all nodes within milliseconds, so a node that sees it
-- note: seconds late each time has another clock; three nodes must have seen it. Requests that both
-- note: sides name show how far the whole cluster is off. A cluster none of whose logs tells its
-- note: zone has that of a job beside it, or is as far ahead of the job's clock as exactly one zone
-- note: fits: in it the logs cover the job from its first line to its last step; as they are they
-- note: lie wholly beside its time, but where both name several objects in the same second.
create or replace view clock as
with slack as (
    select max(value) filter (where name = 'drift_s') * 1e9 as ns,
        max(value) filter (where name = 'zone_step_s') * 1e9 / 2 as limit_ns,
        max(value) filter (where name = 'same_cause_s') * 1000000000 as cause_ns,
        max(value) filter (where name = 'job_start_lag_s') * 1000000000 as lag_ns
    from threshold
),
apart as (
    select f.cluster, f.node_id, replace(m.key, '?', f.cluster) as map,
        min(m.local_ns - c.shift_ns)
            - median(min(m.local_ns - c.shift_ns)) over (partition by map) as gap_ns,
        count(*) over (partition by map) as node_count
    from clock_mark as m
    join ais_file as f on f.file_id = m.file_id
    join clock_ais as c on c.file_id = m.file_id
    where m.kind = 'smap'
    group by f.cluster, f.node_id, map
),
node_drift as (
    select a.cluster, a.node_id, median(a.gap_ns) as drift_ns
    from apart as a cross join slack as s
    where a.node_count >= 3
    group by a.cluster, a.node_id, s.ns, s.limit_ns
    having abs(median(a.gap_ns)) between s.ns and s.limit_ns
        and max(a.gap_ns) - min(a.gap_ns) <= s.ns
),
server as (
    select f.cluster, a.wid, a.age_ns, a.received_count, a.local_ns - c.shift_ns as shown_ns,
        shown_ns - coalesce(d.drift_ns, 0) as utc_ns,
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
    from pair as p cross join slack as s
    where abs(p.gap_ns) <= s.limit_ns
    group by p.cluster, s.ns
    having abs(median(p.gap_ns)) >= s.ns
        and quantile_cont(p.gap_ns, 0.75) - quantile_cont(p.gap_ns, 0.25) <= s.ns
),
lone as (
    select f.cluster from clock_ais as k join ais_file as f on f.file_id = k.file_id
    group by f.cluster having max(k.confidence) <= 0.7
),
known as (
    select w.job_id, max(k.zone_offset_s) as zone_s, bool_and(k.method <> 'assumed') as is_known
    from worker_file as w join clock_worker as k on k.file_id = w.file_id
    where w.kind = 'worker_log'
    group by w.job_id
    having (bool_and(k.method in ('utc_marker', 'given')) or bool_and(k.method = 'assumed'))
        and min(k.zone_offset_s) = max(k.zone_offset_s)
),
line as (
    select w.job_id, l.file_id, l.line_no, l.stamp_source,
        l.local_ns - case when l.zone_offset_s is null then k.shift_ns else 0 end as utc_ns, l.step,
        l.short_count
    from (
        select file_id, line_no, local_ns, zone_offset_s, stamp_source, null as step,
            case when received_count < expected_count then received_count end as short_count
            from worker_line
        union all
        select file_id, line_no, local_ns, zone_offset_s, 'own', step, null from worker_tail
    ) as l
    join worker_file as w on w.file_id = l.file_id
    join clock_worker as k on k.file_id = l.file_id
),
job as (
    select n.job_id, n.zone_s, n.is_known, min(l.utc_ns) as start_ns, max(l.utc_ns) as end_ns,
        coalesce(max(l.utc_ns) filter (where l.step is not null), min(l.utc_ns)) as step_ns
    from known as n join line as l on l.job_id = n.job_id
    group by n.job_id, n.zone_s, n.is_known
),
short as (
    select l.job_id, l.short_count, l.utc_ns as low_ns,
        case when l.stamp_source in ('own', 'wrapper') then l.utc_ns
            else coalesce(t.utc_ns, j.end_ns) end
            as high_ns
    from line as l
    join job as j on j.job_id = l.job_id
        and (l.stamp_source in ('own', 'wrapper') or (l.stamp_source = 'before' and not j.is_known))
    asof left join (select file_id, line_no, utc_ns from line where stamp_source = 'own') as t
        on t.file_id = l.file_id and t.line_no > l.line_no
    where l.short_count is not null
),
shorted as (
    select distinct a.cluster, s.job_id, z.zone_s
    from short as s cross join slack as t
    join server as a on a.received_count = s.short_count and a.cluster in (from lone)
    join zone_choice as z
        on a.shown_ns - z.zone_ns between s.low_ns - t.cause_ns and s.high_ns + t.cause_ns
),
fit as (
    select
        c.cluster, j.job_id, j.is_known, z.zone_s, z.is_in_use or not j.is_known as is_possible,
        coalesce(n.name_count, 0) as name_count,
        j.is_known and z.zone_s = j.zone_s as is_of_hosts,
        coalesce(len(list_filter(c.batches, lambda b: b.utc_ns - z.zone_ns - j.start_ns
            between -5000000000 and t.lag_ns)) > 0, false)
            as is_started,
        coalesce(c.busy_from_ns - z.zone_ns <= j.end_ns + 5000000000
            and c.busy_to_ns - z.zone_ns >= j.step_ns - 5000000000, false)
            as is_stopped,
        s.cluster is not null as is_shorted
    from cluster_load as c
    join lone as o on o.cluster = c.cluster
    join job_storage as u on u.cluster = c.cluster and u.is_ais_user
    join job as j on j.job_id = u.job_id
    join zone_choice as z on z.is_from_utc or not j.is_known
    cross join slack as t
    left join shorted as s on s.cluster = c.cluster and s.job_id = j.job_id and s.zone_s = z.zone_s
    left join clock_job_name as n on n.cluster = c.cluster and n.job_id = j.job_id
        and n.is_known = j.is_known and n.offset_ns = z.zone_ns
    where c.first_ns - z.zone_ns <= j.start_ns and c.last_ns - z.zone_ns >= j.step_ns
        and (n.name_count > 1 or (
            (c.first_ns > j.end_ns or c.last_ns < j.start_ns)
            and not exists (select 1 from cluster_load as e
                join job_storage as v on v.cluster = e.cluster and v.job_id = j.job_id
                where e.first_ns <= j.start_ns and e.last_ns >= j.step_ns)
        ))
),
zone as (
    select cluster, zone_s,
        least(0.55 + 0.1 * max(sign_count), 0.9) - if(bool_or(is_known), 0, 0.1) as confidence,
        'told by job ' || min(job_id) || if(bool_or(is_known), ': ', ' (its zone is unknown): ')
            || concat_ws(', ', if(bool_or(is_of_hosts), 'zone of its hosts', null),
                if(bool_or(is_started), 'its first batch', null),
                if(bool_or(is_stopped), 'end of its load', null),
                if(bool_or(is_shorted), 'a broken batch', null),
                case when max(name_count) > 1
                    then max(name_count)::varchar || ' names in the same second'
                    when max(name_count) = 1 then 'a name in the same second' end) as text
    from (select *,
        is_of_hosts::integer + is_started::integer + is_stopped::integer + is_shorted::integer
            + least(name_count, 2) as sign_count
        from fit)
    where sign_count >= if(is_known, 2, 3)
    group by cluster, zone_s
    qualify count(*) over (partition by cluster) = 1 and bool_and(is_possible)
),
every as (
    select a.file_id,
        a.shift_ns + (coalesce(n.drift_ns, 0) + coalesce(g.drift_ns, 0))::bigint
            + coalesce(z.zone_s * 1000000000, 0) as shift_ns,
        a.zone_offset_s + coalesce(z.zone_s, 0) as zone_offset_s,
        if(z.cluster is null, a.method, 'anchor') as method,
        coalesce(z.confidence, a.confidence) as confidence,
        case when z.cluster is null then a.line_no end as line_no, coalesce(z.text, a.text) as text,
        null::bigint as against_ns
    from clock_ais as a
    left join ais_file as f on f.file_id = a.file_id
    left join zone as z on z.cluster = f.cluster
    left join node_drift as n on n.cluster = f.cluster and n.node_id = f.node_id
    left join cluster_drift as g on g.cluster = f.cluster
    union all
    select file_id, shift_ns, zone_offset_s, method, confidence, line_no, text, against_ns
        from clock_worker
)
select
    f.file_id, f.path, f.kind, f.zone as timezone, coalesce(e.shift_ns, 0) as shift_ns,
    (coalesce(e.shift_ns, 0) / 1000000000)::bigint as offset_s,
    coalesce(e.zone_offset_s, 0) as zone_offset_s,
    coalesce(e.method, case when f.is_stated then 'utc_marker'
        when f.kind = 'node_status' then 'mtime' else 'assumed' end)
        as method,
    round(coalesce(e.confidence, case when f.is_stated then 1.0 else 0.5 end)::double, 2)
        as confidence,
    (e.against_ns / 1000000000)::bigint as against_s, e.line_no, e.text as evidence
from (
    select *,
        kind = 'flight_recorder' or (kind = 'node_status' and date_method = 'stamp') as is_stated
    from ingested_file where state = 'ingested' and kind <> 'unknown'
) as f
left join every as e on e.file_id = f.file_id
