-- The error of a rank is the answer of a daemon that is none of the cluster's, at an address that had just stopped answering with one of its nodes.
-- grain: one row a failure of this kind
-- reads: failure_lead, rank_request, node, node_fault, threshold
-- stored: yes
-- empty without: failure_lead where crash_node_id is not null
-- empty without: node_fault
-- note: Somebody gave the node's host, name or address to another cluster, which knows neither its buckets nor its objects. The daemon that signs the answer must be unknown to all logs of the cluster, the rank must have tried the same address in vain before, and exactly one node of the cluster have gone since stall_reach_s before that.
create or replace view finding_stranger_answered as
with stranger as (
    select f.failure_id, f.cluster, a.endpoint, min(a.from_ns) as from_ns, arg_min(a.file_id, (a.from_ns, a.line_no)) as file_id, arg_min(a.line_no, (a.from_ns, a.line_no)) as line_no
    from failure_lead as f
    join rank_request as a on a.failure_id = f.failure_id and a.node_id = f.crash_node_id and a.endpoint is not null
    where f.is_cluster_sure and f.is_storage_seen
        and not exists (from node as n where n.cluster = f.cluster and n.node_id = f.crash_node_id)
        and exists (from rank_request as r where r.failure_id = f.failure_id and r.rank = f.culprit_rank and r.outcome = 'retry' and r.endpoint = a.endpoint and r.to_ns <= a.to_ns)
    group by f.failure_id, f.cluster, a.endpoint
),
gone as (
    select s.failure_id, s.endpoint, any_value(n.node_id) as node_id, arg_min(n.file_id, (n.started_ns, n.line_no)) as file_id, arg_min(n.line_no, (n.started_ns, n.line_no)) as line_no, min(n.started_ns) as started_ns
    from stranger as s
    join threshold as p on p.name = 'stall_reach_s'
    join node_fault as n on n.cluster = s.cluster and n.fault_kind in ('killed', 'crashed', 'hung', 'down', 'stopped', 'maintenance') and n.started_ns between s.from_ns - p.value::bigint * 1000000000 and s.from_ns
    group by s.failure_id, s.endpoint
    having count(distinct n.node_id) = 1
)
select
    f.failure_id,
    'stranger_answered' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    'stranger_answered' as failure_kind,
    'guilty' as storage_verdict,
    g.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.82 as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern) || ', the answer of daemon ' || f.crash_node_id || ' at ' || s.endpoint || ', which is none of the cluster; node ' || g.node_id
        || ' had gone at ' || strftime(make_timestamp_ns(g.started_ns)::timestamp, '%H:%M:%S') || ' UTC, and the address had not answered since' as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': 'the first answer of ' || f.crash_node_id},
        {'file_id': g.file_id, 'line_no': g.line_no, 'why': 'how ' || g.node_id || ' went'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from failure_lead as f
join stranger as s on s.failure_id = f.failure_id
join gone as g on g.failure_id = s.failure_id and g.endpoint = s.endpoint
where f.crash_pattern is not null
qualify row_number() over (partition by f.failure_id order by s.from_ns, s.endpoint) = 1
