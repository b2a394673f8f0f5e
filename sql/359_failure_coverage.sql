-- How much of AIStore's side of a failure is available, and whether anything was wrong there when
-- it began.
-- grain: one row a failure
-- reads: failure_case, job_cluster, node, node_coverage, cluster_extent, node_fault, felt_fault,
-- reads: fault_kind, worker_event, ais_event, threshold
-- case: yes
-- note: node_total counts nodes that only the cluster map tells of too, uncovered_ids holds those
-- note: with a name. blind_target_count: targets of that map, or of a name, that no log covers: who
-- note: has left the map may still have been asked. short_ids: nodes whose logs end before the
-- note: stall. A node is covered if its logs reach the stall; idle nodes write little, so five
-- note: minutes less will do. What peers alone tell of a node began before they noticed, up to
-- note: notice_s before. stray_count: outages of the cluster within an hour or two that nothing the
-- note: job printed fits: had its clock been right, somebody would have met them, so that AIStore's
-- note: clocks may be off by as much and one may be the cause. Where another job stopped as a node
-- note: of that cluster went, its clocks are right. A clock that is off is so for the job's begin
-- note: too: where a batch of its bucket began as the job did, another must have begun, or gone on,
-- note: when the job would have begun by the other clock. is_storage_seen: enough logs of the
-- note: cluster reach the stall to tell of a fault, and the cluster is surely the job's, as another
-- note: acquits nobody; is_storage_cleared: and go on, so that quiet logs acquit.
create or replace view failure_coverage as
with reach as (
    select
        max(value) filter (where name = 'fault_slack_s')::bigint * 1000000000 as slack_ns,
        max(value) filter (where name = 'kalive_detect_s')::bigint * 1000000000 as detect_ns,
        max(value) filter (where name = 'notice_s')::bigint * 1000000000 as notice_ns,
        max(value) filter (where name = 'clock_doubt_s')::bigint * 1000000000 as doubt_ns,
        max(value) filter (where name = 'same_cause_s')::bigint * 1000000000 as same_ns,
        max(value) filter (where name = 'cluster_sure') as sure
    from threshold
),
cluster as (
    select f.failure_id, f.job_id, f.attempt, f.stall_ns, c.cluster, c.certainty, c.basis,
        e.target_count, e.target_count + e.proxy_count as map_count
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    left join cluster_extent as e on e.job_id = c.job_id and e.attempt = c.attempt
        and e.cluster = c.cluster
),
node_state as (
    select
        c.failure_id, c.cluster, c.certainty, c.target_count, c.map_count, n.node_id, n.role,
        n.has_log,
        bool_or(v.node_id is not null and n.has_log) as is_covered,
        max(v.ended_ns) as ended_ns
    from cluster as c
    join node as n on n.cluster = c.cluster
    left join node_coverage as v on v.cluster = c.cluster and v.node_id = n.node_id
        and v.started_ns <= c.stall_ns and v.ended_ns >= c.stall_ns - 300000000000
    group by c.failure_id, c.cluster, c.certainty, c.target_count, c.map_count, n.node_id, n.role,
        n.has_log
),
late as (
    select c.failure_id, max(v.ended_ns) >= max(c.stall_ns + s.notice_ns) as is_followed,
        bool_or(n.role = 'proxy') as is_watched
    from cluster as c
    join node_coverage as v on v.cluster = c.cluster and v.started_ns <= c.stall_ns
    left join node as n on n.cluster = v.cluster and n.node_id = v.node_id
    cross join reach as s
    group by c.failure_id
),
fault as (
    select
        c.failure_id,
        max(f.weight) filter (where f.started_ns <= r.until_ns) as top_weight,
        count(*) filter (where f.started_ns <= r.until_ns and f.weight >= 0.5) as fault_count,
        count(*)
            filter (
                where f.started_ns <= r.until_ns
                    and f.fault_kind
                        in ('killed', 'crashed', 'hung', 'down', 'stopped', 'maintenance',
                            'isolated', 'cut'))
                as gone_count,
        count(*) filter (where f.started_ns > r.until_ns and f.weight >= 0.9) as soon_count
    from cluster as c
    cross join reach as s
    join node_fault as f on f.cluster = c.cluster and f.ended_ns >= c.stall_ns - s.slack_ns
    left join node as n on n.cluster = f.cluster and n.node_id = f.node_id
    cross join lateral (
        select c.stall_ns + if(coalesce(n.has_log, false), s.slack_ns, s.notice_ns) as until_ns
    ) as r
    where f.started_ns <= greatest(r.until_ns, c.stall_ns + s.detect_ns)
    group by c.failure_id
),
stamped as (
    from worker_event where stamp_source in ('own', 'wrapper')
),
ready as (
    select job_id, attempt, bucket, max(utc_ns) as utc_ns
    from stamped
    where role = 'identity' and bucket is not null
    group by job_id, attempt, bucket
),
begun as (
    select
        cluster, xid, any_value(bucket) filter (where pattern = 'ais_get_batch_started') as bucket,
        min(utc_ns) filter (where pattern = 'ais_get_batch_started') as utc_ns,
        max(utc_ns) as last_ns
    from ais_event where xid is not null group by cluster, xid
),
shift as (
    select w.job_id, w.attempt, a.cluster, a.utc_ns - w.utc_ns as from_ns,
        a.last_ns - w.utc_ns as to_ns, abs(from_ns) <= s.same_ns as is_none
    from ready as w
    cross join reach as s
    join begun as a on a.bucket = w.bucket and abs(a.utc_ns - w.utc_ns) <= s.doubt_ns
),
proven as (
    select w.job_id, w.attempt, a.cluster
    from stamped as w
    cross join reach as s
    join ais_event as a on a.wid = w.wid and abs(w.utc_ns - a.utc_ns) <= s.slack_ns
    union
    select w.job_id, w.attempt, a.cluster
    from stamped as w
    cross join reach as s
    join ais_event as a on a.object = w.object and a.bucket = w.bucket
        and abs(w.utc_ns - a.utc_ns) <= s.slack_ns
    union
    select job_id, attempt, cluster
    from shift
    group by job_id, attempt, cluster
    having count(*) = 1 and bool_and(is_none)
),
stray as (
    select c.failure_id, count(*) as stray_count
    from cluster as c
    anti join proven as p
        on p.job_id = c.job_id and p.attempt = c.attempt and p.cluster = c.cluster
    cross join reach as s
    join node_fault as n on n.cluster = c.cluster and abs(n.started_ns - c.stall_ns) <= s.doubt_ns
        and n.weight >= 0.9
    join fault_kind as k on k.fault_kind = n.fault_kind and k.takes_away
    where not (n.started_ns <= c.stall_ns + s.slack_ns and n.ended_ns >= c.stall_ns - s.slack_ns)
        and not exists (
            from felt_fault as x
            where case when x.felt_by = c.job_id then x.fault_id = n.fault_id and x.is_told
                else x.cluster = c.cluster and (x.is_stop or x.fault_id = n.fault_id) end
        )
        and (
            not exists (
                from shift as x
                where x.job_id = c.job_id and x.attempt = c.attempt and x.cluster = c.cluster
                    and x.is_none
            )
            or exists (
                from shift as x
                where x.job_id = c.job_id and x.attempt = c.attempt and x.cluster = c.cluster
                    and n.started_ns <= c.stall_ns + x.to_ns + s.slack_ns
                    and n.ended_ns >= c.stall_ns + x.from_ns - s.same_ns - s.slack_ns
            )
        )
    group by c.failure_id
)
select
    f.failure_id,
    max(s.cluster) as cluster,
    max(s.certainty) as cluster_certainty,
    count(s.node_id) filter (where s.has_log) as node_count,
    count(s.node_id) filter (where s.is_covered) as covered_count,
    greatest(count(s.node_id), max(s.map_count)) as node_total,
    coalesce(count(s.node_id)
        filter (where s.is_covered) / nullif(greatest(count(s.node_id), max(s.map_count)), 0),
        0.0)
        as covered_ratio,
    count(s.node_id) filter (where s.is_covered and s.role = 'target') as covered_target_count,
    greatest(max(s.target_count), count(s.node_id) filter (where s.role = 'target'))
        - covered_target_count as blind_target_count,
    list(s.node_id order by s.node_id) filter (where not s.is_covered) as uncovered_ids,
    list(s.node_id order by s.node_id)
        filter (where s.is_covered and s.ended_ns < f.stall_ns) as short_ids,
    list(s.node_id || ' after ' || strftime(make_timestamp_ns(s.ended_ns)::timestamp, '%H:%M:%S')
        order by s.node_id)
        filter (where s.is_covered and s.ended_ns < f.stall_ns) as short_words,
    coalesce(bool_or(l.is_followed), false) as is_followed,
    coalesce(bool_or(l.is_watched), false) as is_watched,
    coalesce(max(t.top_weight), 0.0) as fault_weight,
    coalesce(max(t.fault_count), 0) as fault_count,
    coalesce(max(t.gone_count), 0) as gone_count,
    coalesce(max(t.soon_count), 0) as soon_count,
    coalesce(max(y.stray_count), 0) as stray_count,
    coalesce(max(s.certainty) >= any_value(p.sure), false) as is_cluster_sure,
    covered_ratio >= 0.5 and covered_target_count > 0
        and coalesce(max(s.certainty) >= any_value(p.sure), true) as is_storage_seen,
    is_storage_seen and coalesce(bool_or(l.is_followed and l.is_watched), false)
        and blind_target_count = 0 as is_storage_cleared
from failure_case as f
cross join reach as p
left join node_state as s on s.failure_id = f.failure_id
left join fault as t on t.failure_id = f.failure_id
left join late as l on l.failure_id = f.failure_id
left join stray as y on y.failure_id = f.failure_id
group by f.failure_id
