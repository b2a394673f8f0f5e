-- What is available of the log of an AIStore node around the moment at which a job failed.
-- grain: one row a failure and node of a cluster the job used, or a failure without a cluster
-- reads: failure_case, job_cluster, node, node_coverage, cluster_extent
-- case: yes
-- note: The log is complete if one span of it covers the time from when the ranks stopped to when
-- note: the failure was reported. Nodes that only the cluster map counts are one row without a
-- note: node_id, as is the storage of a job of which no log was read.
create or replace view log_coverage as
with used as (
    select f.failure_id, f.job_id, f.attempt, f.stall_ns, f.heard_ns, c.cluster
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
around as (
    select
        u.failure_id, u.job_id, u.stall_ns, u.heard_ns, u.cluster, n.node_id, n.role,
        v.started_ns, v.ended_ns, coalesce(v.file_id, n.file_id) as file_id,
        coalesce(v.line_no, n.line_no) as line_no
    from used as u
    join node as n on n.cluster = u.cluster
    left join node_coverage as v on v.cluster = n.cluster and v.node_id = n.node_id
    qualify row_number() over (
        partition by u.failure_id, u.cluster, n.node_id
        order by (v.started_ns <= u.heard_ns) desc nulls last, abs(v.started_ns - u.heard_ns)
    ) = 1
),
uncounted as (
    select
        u.failure_id, u.job_id, e.target_count + e.proxy_count - count(n.node_id) as node_count
    from used as u
    join cluster_extent as e
        on e.job_id = u.job_id and e.attempt = u.attempt and e.cluster = u.cluster
    left join node as n on n.cluster = u.cluster
    group by u.failure_id, u.job_id, u.cluster, e.target_count, e.proxy_count
    having e.target_count + e.proxy_count > count(n.node_id)
)
select
    failure_id, job_id, node_id, 'node ' || node_id as "of", started_ns, ended_ns,
    case
        when started_ns is null then 'missing'
        when stall_ns is null or heard_ns is null then 'unknown'
        when started_ns <= stall_ns and ended_ns >= heard_ns then 'complete'
        else 'cut'
    end as state,
    case
        when started_ns is null then 'no log of it was read'
        when stall_ns is null or heard_ns is null then 'the moment of the failure is not known'
        when ended_ns < stall_ns then 'its log ends before the ranks stopped'
        when started_ns > heard_ns then 'its log begins after the failure was reported'
        when started_ns > stall_ns then 'its log begins after the ranks stopped'
        when ended_ns < heard_ns then 'its log ends before the failure was reported'
        else 'its log covers the time from when the ranks stopped to the report of the failure'
    end as because,
    file_id, line_no
from around
union all
select
    failure_id, job_id, null as node_id, node_count::varchar || ' other nodes' as "of",
    null as started_ns, null as ended_ns, 'missing' as state,
    'the cluster map counts them, and no log of them was read' as because,
    null as file_id, null as line_no
from uncounted
union all
select
    failure_id, job_id, null as node_id, 'storage' as "of", null as started_ns,
    null as ended_ns, 'missing' as state,
    'no log of an AIStore cluster that the job used was read' as because, null as file_id,
    null as line_no
from failure_case as f
where not exists (from used as u where u.failure_id = f.failure_id)
