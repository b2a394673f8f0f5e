-- How many targets of a failure's cluster tell by their statistics how reads went when the ranks
-- began to wait.
-- grain: one row a failure
-- reads: failure_coverage, failure_case, node, node_coverage, stats_reading, cluster_extent,
-- reads: read_growth, threshold
-- case: yes
-- note: Reads are counted when they are over, so a line of statistics tells of those of its
-- note: interval, and tells enough where it comes notice_s after the stall or later. A target that
-- note: has nothing new to count prints none: silent for longer than the cluster's usual time
-- note: between two lines it tells as much. cold_count: targets whose reads of that time spent most
-- note: of it at the remote backend, and had not before (stall_reach_s and longer).
create or replace view told_reads as
with target as (
    select v.failure_id, v.cluster, n.node_id, f.stall_ns, f.ended_ns,
        f.stall_ns + t.value::bigint * 1000000000 as wanted_ns, e.target_count
    from failure_coverage as v
    join failure_case as f on f.failure_id = v.failure_id
    join node as n on n.cluster = v.cluster and n.role = 'target'
    join threshold as t on t.name = 'notice_s'
    left join cluster_extent as e on e.job_id = f.job_id and e.attempt = f.attempt
        and e.cluster = v.cluster
),
pace as (
    select cluster, quantile_disc(utc_ns - previous_ns, 0.5) as usual_ns
    from stats_reading
    where previous_ns is not null
    group by cluster
),
printed as (
    select
        t.failure_id, t.cluster, t.node_id, t.target_count, t.wanted_ns,
        max(s.utc_ns) as last_ns,
        max(c.ended_ns) as ended_ns
    from target as t
    left join node_coverage as c on c.cluster = t.cluster and c.node_id = t.node_id
        and c.ended_ns >= t.wanted_ns and c.started_ns <= t.wanted_ns
    left join stats_reading as s on s.cluster = t.cluster and s.node_id = t.node_id
        and s.utc_ns between c.started_ns and c.ended_ns
    group by t.failure_id, t.cluster, t.node_id, t.target_count, t.wanted_ns
),
cold as (
    select t.failure_id, t.node_id
    from target as t
    join threshold as b on b.name = 'stall_reach_s'
    join read_growth as r on r.cluster = t.cluster and r.node_id = t.node_id
        and r.backend is null and r.previous_ns <= t.ended_ns
    join read_growth as c on c.file_id = r.file_id and c.line_no = r.line_no
        and c.backend is not null and c.took_ns * 2 >= r.took_ns
    group by t.failure_id, t.node_id
    having max(r.utc_ns - t.stall_ns) >= 0
        and min(r.utc_ns - t.stall_ns) > any_value(b.value) * -1e9
)
select
    p.failure_id,
    count(*)
        filter (
            where p.last_ns >= p.wanted_ns
                or (u.usual_ns is not null
                    and p.ended_ns >= greatest(p.wanted_ns, p.last_ns + u.usual_ns)
                    and p.last_ns is not null))
            as told_count,
    greatest(count(*), coalesce(max(p.target_count), 0)) as target_count,
    count(c.node_id) as cold_count
from printed as p
left join pace as u on u.cluster = p.cluster
left join cold as c on c.failure_id = p.failure_id and c.node_id = p.node_id
group by p.failure_id
