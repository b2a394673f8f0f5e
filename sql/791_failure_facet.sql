-- Something that a failure is counted under: its class, verdict, node, mountpath, bucket, host,
-- job, cluster or week.
-- grain: one row a failure, facet and value
-- reads: failure, failure_node, line_episode, culprit_request, job, rank_state
-- public: yes
-- note: node: held responsible; mountpath: of such a node, in trouble in the window, or off where a
-- note: disk is the cause; bucket: what the culprits had asked for, else what the job reads from;
-- note: host: of the culprits, else of the ranks that crashed. A week begins on Monday (UTC).
create or replace view failure_facet as
with failed as (
    select
        failure_id, job_id, attempt, failure_class, failure_kind, storage_verdict, cluster,
        window_started_at, window_ended_at,
        coalesce(ended_at, first_error_at, hang_started_at) as failed_at
    from failure
),
asked as (
    select failure_id, bucket from culprit_request where bucket is not null
),
source as (
    select
        f.failure_id,
        unnest(regexp_extract_all(j.data_source, '[a-z][a-z0-9]*://[^\s,;/]+')) as bucket
    from failed as f
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    where not exists (from asked as a where a.failure_id = f.failure_id)
),
host as (
    select failure_id, host, role
    from rank_state
    where role in ('culprit', 'crashed') and host is not null
    qualify role = 'culprit'
        or count(*) filter (where role = 'culprit') over (partition by failure_id) = 0
),
every as (
    select failure_id, 'class' as facet, failure_class as value from failed
    union all
    select failure_id, 'verdict', storage_verdict from failed
    union all
    select failure_id, 'node', node_id from failure_node
    union all
    select n.failure_id, 'mountpath', d.subject
    from failure_node as n
    join failed as f on f.failure_id = n.failure_id
    join line_episode as d on d.subject_kind = 'disk' and d.cluster = n.cluster
        and starts_with(d.subject, n.node_id || ' ')
        and d.begin_max_ns <= epoch_ns(f.window_ended_at)
        and coalesce(d.end_max_ns >= epoch_ns(f.window_started_at), true)
        and (d.end_min_ns >= epoch_ns(f.window_started_at - interval 5 minutes)
            or starts_with(f.failure_kind, 'disk'))
    union all
    select failure_id, 'bucket', bucket from asked
    union all
    select failure_id, 'bucket', bucket from source
    union all
    select failure_id, 'host', host from host
    union all
    select failure_id, 'job', job_id from failed
    union all
    select failure_id, 'cluster', cluster from failed
    union all
    select failure_id, 'week', strftime(failed_at::timestamp, '%G-W%V') from failed
)
select distinct e.failure_id, f.failed_at, e.facet, e.value
from every as e
join failed as f on f.failure_id = e.failure_id
where e.value is not null
