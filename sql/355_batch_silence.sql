-- A hang of a job that reads by batches, in which no log shows that AIStore held a batch of its
-- bucket, and whether one would.
-- grain: one row a failure
-- reads: failure_case, job_cluster, job, ais_event, batch_item, node, node_coverage, threshold
-- case: yes
-- note: A designated target that waits for a sender gives up after three waits and prints the
-- note: batch with its age, and one that stood still does when it goes on. is_told: the logs of all
-- note: targets go on for that long after the ranks stopped, so that none was held.
create or replace view batch_silence as
with asked as (
    select f.failure_id, f.stall_ns, f.spoke_ns, c.cluster, min(e.bucket) as bucket,
        any_value(t.value * 1e9) as told_ns, any_value(s.value * 1e9) as slack_ns
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join threshold as t on t.name = 'batch_told_s'
    join threshold as s on s.name = 'fault_slack_s'
    join ais_event as e on e.cluster = c.cluster and starts_with(e.xid, 'gbt-')
        and e.bucket is not null and e.utc_ns between f.started_ns - 600e9 and f.stall_ns
        and regexp_matches(j.data_source,
            '(^|[^\w./:-])' || regexp_escape(e.bucket) || '($|[^\w.-])')
    where f.hang_start_ns is not null
    group by f.failure_id, f.stall_ns, f.spoke_ns, c.cluster
    having count(distinct e.bucket) = 1
)
select a.failure_id, a.cluster, a.bucket,
    not exists (
        from node as n
        where n.cluster = a.cluster and n.role = 'target' and not exists (
            from node_coverage as v
            where v.cluster = n.cluster and v.node_id = n.node_id
                and v.started_ns <= a.stall_ns and v.ended_ns >= a.stall_ns + a.told_ns
        )
    ) as is_told
from asked as a
where not exists (
    from batch_item as b
    where b.cluster = a.cluster and coalesce(b.bucket, a.bucket) = a.bucket
        and b.began_ns <= a.spoke_ns and b.ended_ns >= a.stall_ns - a.slack_ns
)
