-- An AIStore node that a rank of a failed attempt asked for data and had nothing good from: an
-- error, a repeat, a short answer, or none yet.
-- grain: one row a failure, rank, node and whether the answer is still awaited
-- reads: failure_case, job_cluster, node, node_endpoint, node_fault, rank_request
-- case: yes
-- note: A proxy counts where requests to it were repeated, or nobody was there to connect to
-- note: (clients of S3 repeat without a word). is_unreached: none of these lines tells of a
-- note: connection that came about. to_ns: when the last of the lines was said.
create or replace view asked_node as
with suspected as (
    select f.failure_id, any_value(n.node_id) as node_id
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join node_fault as n on n.cluster = c.cluster
        and (n.role = 'target' or n.fault_kind = 'files_exhausted') and n.started_ns <= f.spoke_ns
        and ((n.fault_kind = 'goroutines' and n.started_ns >= f.hang_start_ns)
            or (regexp_matches(n.fault_kind, '^(slow_reads|files_exhausted)')
                and n.ended_ns >= f.hang_start_ns))
    where not exists (from node_endpoint as e where e.cluster = n.cluster and e.node_id = n.node_id)
    group by f.failure_id
    having count(distinct n.node_id) = 1
)
select r.failure_id, r.rank, r.node_id, r.outcome = 'pending' as is_pending,
    bool_and(
        regexp_matches(r.text || ' ' || coalesce(r.message, ''),
            '(?i)connect ?timeout|NewConnectionError|failed to establish a new connection|no route '
                'to host|network is unreachable|connection timed out'))
        as is_unreached,
    max(r.to_ns) as to_ns, min(r.file_id) as file_id,
    arg_min(r.line_no, (r.file_id, r.line_no)) as line_no
from rank_request as r
join node as n on n.cluster = r.cluster and n.node_id = r.node_id
where r.outcome in ('pending', 'error', 'retry', 'short', 'missing')
group by r.failure_id, r.rank, r.node_id, n.role, r.outcome = 'pending'
    having n.role = 'target'
        or bool_or(r.outcome = 'retry'
            or r.pattern in ('s3_endpoint_unreachable', 'http_connection_refused'))
union all
select r.failure_id, r.rank, p.node_id, true, false, max(r.to_ns), min(r.file_id),
    arg_min(r.line_no, (r.file_id, r.line_no))
from rank_request as r
join suspected as p on p.failure_id = r.failure_id
join failure_case as f on f.failure_id = r.failure_id
where r.node_id is null and ((r.outcome = 'pending' and contains(r.url, '/v1/objects/')) or (
    r.outcome = 'retry' and regexp_matches(r.endpoint, ':5108\d$') and r.to_ns >= f.hang_start_ns
    and (select count(distinct o.endpoint) from rank_request as o
        where o.failure_id = r.failure_id and o.outcome in ('retry', 'pending'))
        = 1
))
group by r.failure_id, r.rank, p.node_id
