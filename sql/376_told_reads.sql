-- How many targets of a failure's cluster tell by their statistics how reads went when the ranks
-- began to wait.
-- grain: one row a failure
-- reads: failure_coverage, failure_case, node, node_coverage, stats_reading, cluster_extent,
-- reads: threshold
-- case: yes
-- note: Reads are counted when they are over, so a line of statistics tells of those of its
-- note: interval, and tells enough where it comes notice_s after the stall or later. A target that
-- note: has nothing new to count prints none: silent for longer than the cluster's usual time
-- note: between two lines it tells as much.
create or replace view told_reads as
with target as (
    select v.failure_id, v.cluster, n.node_id,
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
    greatest(count(*), coalesce(max(p.target_count), 0)) as target_count
from printed as p
left join pace as u on u.cluster = p.cluster
group by p.failure_id
