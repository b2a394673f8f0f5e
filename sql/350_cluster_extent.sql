-- How many nodes the cluster of a job had while it ran, by the cluster maps that its nodes saw.
-- grain: one row a job attempt and cluster with a map
-- reads: job_cluster, job_span, cluster_map
-- case: yes
-- note: The last map before the job's first line counts, and those until its last; of several the
-- note: largest.
create or replace view cluster_extent as
with seen as (
    select
        c.job_id, c.attempt, c.cluster, m.target_count, m.proxy_count, m.utc_ns,
        max(m.utc_ns) filter (where m.utc_ns <= j.started_ns)
            over (partition by c.job_id, c.attempt, c.cluster) as low_ns
    from job_cluster as c
    join job_span as j on j.job_id = c.job_id and j.attempt = c.attempt
    join cluster_map as m on m.cluster = c.cluster
        and m.utc_ns <= coalesce(j.ended_ns, j.started_ns)
)
select
    job_id,
    attempt,
    cluster,
    max(target_count) as target_count,
    max(proxy_count) as proxy_count
from seen
where utc_ns >= coalesce(low_ns, 0)
group by job_id, attempt, cluster
