-- The proxies through which a rank of a failed attempt reached AIStore, as far as its own lines
-- name addresses.
-- grain: one row a failure and rank that names an address of a proxy
-- reads: failure_case, failed_rank, worker_event, job_cluster, node_endpoint, node
-- case: yes
-- note: A line without a rank speaks for all ranks of its file.
create or replace view storage_gateway as
with named as (
    select distinct f.failure_id, w.rank, w.file_id, e.node_id
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt
        and w.endpoint is not null
    join node_endpoint as e on e.cluster = c.cluster and e.endpoint = w.endpoint
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'proxy'
)
select
    f.failure_id,
    r.rank,
    list_sort(list(distinct n.node_id)) as node_ids
from failure_case as f
join failed_rank as r on r.job_id = f.job_id and r.attempt = f.attempt
join named as n on n.failure_id = f.failure_id
    and (n.rank = r.rank or (n.rank is null and n.file_id = r.file_id))
group by f.failure_id, r.rank
