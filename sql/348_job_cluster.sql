-- An AIStore cluster that a job used, and how that is known.
-- grain: one row a job attempt and cluster
-- reads: job_span, job_storage, worker_event, stack_request, ais_event, node, node_endpoint,
-- reads: node_coverage, threshold
-- case: kept
-- note: A job's first lines may have no time, so it may have begun minutes before. A common request
-- note: proves it; an address or a node id proves it if the cluster was up; else the only cluster
-- note: with logs of that time is taken, or the one whose logs lie beside the job's, with less
-- note: certainty where the job's lines say nothing of AIStore.
create or replace view job_cluster as
with overlap as (
    select j.job_id, j.attempt, c.cluster
    from job_span as j
    join threshold as t on t.name = 'stamp_reach_s'
    join node_coverage as c on c.started_ns <= coalesce(j.ended_ns, j.started_ns)
        and c.ended_ns >= j.started_ns - t.value::bigint * 1000000000
    group by j.job_id, j.attempt, c.cluster
),
mention as (
    select w.job_id, w.attempt, a.cluster, 'wid' as basis, 1.0 as certainty, w.file_id, w.line_no
    from worker_event as w
    join ais_event as a on a.wid = w.wid
    union all
    select w.job_id, w.attempt, n.cluster, 'node', 0.95, w.file_id, w.line_no
    from worker_event as w
    join node as n on n.node_id = w.node_id
    join overlap as o on o.job_id = w.job_id and o.attempt = w.attempt and o.cluster = n.cluster
    union all
    select w.job_id, w.attempt, e.cluster, 'endpoint', 0.9, w.file_id, w.line_no
    from worker_event as w
    join node_endpoint as e on e.endpoint = w.endpoint
    join overlap as o on o.job_id = w.job_id and o.attempt = w.attempt and o.cluster = e.cluster
    union all
    select s.job_id, o.attempt, e.cluster, 'endpoint', 0.9, s.file_id, s.line_no
    from stack_request as s
    join node_endpoint as e on e.endpoint = s.endpoint
    join overlap as o on o.job_id = s.job_id and o.cluster = e.cluster
),
told as (
    select job_id, attempt, cluster, basis, max(certainty) as certainty, count(*) as vote_count,
        min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no
    from mention
    group by job_id, attempt, cluster, basis
),
stranger as (
    select o.job_id, o.attempt, o.cluster, bool_and(starts_with(w.endpoint, '127.'))
        and exists (select 1 from node_endpoint as e
            where e.cluster = o.cluster and starts_with(e.endpoint, '127.'))
            as is_local
    from overlap as o
    join worker_event as w on w.job_id = o.job_id and w.attempt = o.attempt
        and regexp_matches(w.endpoint, '^[0-9.]+:[0-9]+$')
        and regexp_matches(coalesce(w.url, '') || w.text, '/v1/|AIS_ENDPOINT|ais://|\bvia https?:')
    where exists (select 1 from node_endpoint as e where e.cluster = o.cluster)
    group by o.job_id, o.attempt, o.cluster
    having bool_and(
        not exists (select 1 from node_endpoint as e
            where e.cluster = o.cluster
                and regexp_extract(e.endpoint, '^[0-9]+\.[0-9]+\.')
                    = regexp_extract(w.endpoint, '^[0-9]+\.[0-9]+\.')
        and (e.endpoint = w.endpoint or not starts_with(w.endpoint, '127.'))))
),
by_time as (
    select
        o.job_id, o.attempt, o.cluster,
        case when b.job_id is not null then 'folder'
            when count(*) over (partition by o.job_id, o.attempt) = 1 then 'only' else 'time' end
            as basis,
        case
            when x.is_local and u.is_ais_user
                and count(*) over (partition by o.job_id, o.attempt) = 1 then 0.55
            when x.cluster is not null then 0.1
            when b.job_id is not null and b.is_ais_user then 0.8
            when b.job_id is not null then 0.7
            when count(*) over (partition by o.job_id, o.attempt) = 1 and u.is_ais_user then 0.75
            when count(*) over (partition by o.job_id, o.attempt) = 1 then 0.3
            else 0.2
        end as certainty,
        0 as vote_count, null::integer as file_id, null::bigint as line_no
    from overlap as o
    left join job_storage as b on b.job_id = o.job_id and b.cluster = o.cluster
    left join (select distinct job_id, is_ais_user from job_storage) as u on u.job_id = o.job_id
    left join stranger as x on x.job_id = o.job_id and x.attempt = o.attempt
        and x.cluster = o.cluster
),
every as (
    select * from told
    union all
    select * from by_time
),
best as (
    select * from every
    qualify row_number()
        over (partition by job_id, attempt, cluster order by certainty desc, vote_count desc, basis)
            = 1
)
select job_id, attempt, cluster, basis, certainty, vote_count, file_id, line_no
from best
where certainty >= (select value from threshold where name = 'cluster_certainty')
qualify certainty >= 0.97 * max(certainty) over (partition by job_id, attempt)
