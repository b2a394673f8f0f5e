-- A rank got no connection to the proxy that its requests begin at, while one proxy of AIStore drowned in requests by its own word.
-- grain: one row a failure of this kind
-- reads: failure_lead, rank_request, node_fault, node_witness, node_endpoint, threshold
-- stored: yes
-- empty without: failure_lead where crash_pattern = 'http_connect_timeout'
-- empty without: node_fault where fault_kind = 'goroutines'
-- note: Who listens and does not accept lets connections run into their time-out. A daemon must complain of its processors and, in red and up to the error (fault_slack_s), of its goroutines, and be the only proxy that does: many goroutines alone are load. The address must not be known as another node's; a request that a proxy has sent on (pid=) went to a target. A host that has lost its way meets several addresses, on several ranks: then it is nothing.
create or replace view finding_proxy_swamped as
with unreached as (
    select failure_id, count(distinct split_part(endpoint, ':', 1)) as address_count, count(distinct rank) as rank_count, arg_min(endpoint, (from_ns, file_id, line_no)) as endpoint
    from rank_request
    where outcome in ('error', 'retry', 'chained') and endpoint is not null and regexp_matches(text || ' ' || coalesce(message, ''), '(?i)connect(ion)? ?time-?out|connection timed out|No route to host|Network is unreachable')
    group by failure_id
),
swamped as (
    select f.failure_id, min(g.node_id) as node_id, count(distinct g.node_id) as node_count, min(g.started_ns) as started_ns, arg_min(c.file_id, c.started_ns) as file_id, arg_min(c.line_no, c.started_ns) as line_no, arg_min(g.file_id, g.started_ns) as many_file_id, arg_min(g.line_no, g.started_ns) as many_line_no
    from failure_lead as f
    join threshold as s on s.name = 'fault_slack_s'
    join node_fault as g on g.cluster = f.cluster and g.role = 'proxy' and g.fault_kind = 'goroutines' and g.started_ns <= f.crash_latest_ns and g.ended_ns >= f.crash_latest_ns - s.value * 1e9
    join node_fault as c on c.cluster = g.cluster and c.node_id = g.node_id and c.fault_kind = 'cpu_high' and c.started_ns <= f.crash_latest_ns and c.ended_ns >= g.started_ns
    where exists (from node_witness as w where w.cluster = g.cluster and w.node_id = g.node_id and w.effect = 'goroutines_high' and contains(w.text, 'red alert') and w.utc_ns between g.started_ns and f.crash_latest_ns)
    group by f.failure_id
)
select
    f.failure_id,
    'proxy_swamped' as finding,
    'fired' as state,
    'network' as failure_class,
    'proxy_swamped' as failure_kind,
    'guilty' as storage_verdict,
    d.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.87 as score,
    f.culprit_words || ' got no connection to ' || u.endpoint || ' in time, while proxy ' || d.node_id || ' of AIStore drowned in requests, since ' || strftime(make_timestamp_ns(d.started_ns)::timestamp, '%H:%M:%S') || ' UTC' as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': d.file_id, 'line_no': d.line_no, 'why': 'what the proxy says of its processors'},
        {'file_id': d.many_file_id, 'line_no': d.many_line_no, 'why': 'what the proxy says of its goroutines'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    case when e.node_id is null then [{'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'no line at hand says whose address that is'}] else [] end as contradicts
from failure_lead as f
join swamped as d on d.failure_id = f.failure_id and d.node_count = 1
join unreached as u on u.failure_id = f.failure_id and u.address_count = 1 and u.rank_count = 1
left join node_endpoint as e on e.cluster = f.cluster and e.endpoint = u.endpoint
where f.crash_pattern = 'http_connect_timeout' and f.crash_class = 'network' and f.culprit_count = 1 and f.is_cluster_sure
    and regexp_matches(coalesce(f.crash_message, f.crash_text), '/v1/') and not contains(coalesce(f.crash_message, f.crash_text), 'pid=') and coalesce(e.node_id, d.node_id) = d.node_id
