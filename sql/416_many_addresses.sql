-- A rank that kept the others waiting and could meanwhile connect to none of many nodes of AIStore.
-- grain: one row a failure
-- reads: failure_lead, rank_request, node_fault, fault_kind
-- case: yes
-- note: Retries and errors of the culprit while the others waited that say that no connection came about, at three addresses or more, and at more than twice as many as nodes were in trouble then that takes connections from them: what was wrong with one of them does not explain it. The way from that host may, or all that stands before the cluster.
create or replace view many_addresses as
with met as (
    select
        f.failure_id, f.cluster, f.stall_ns, f.spoke_ns,
        count(distinct r.endpoint) as endpoint_count,
        min(r.file_id) as file_id,
        arg_min(r.line_no, (r.file_id, r.line_no)) as line_no
    from failure_lead as f
    join rank_request as r on r.failure_id = f.failure_id and r.rank = f.culprit_rank and r.outcome in ('retry', 'error') and r.to_ns >= f.stall_ns and r.from_ns <= f.spoke_ns
    where r.endpoint is not null and regexp_matches(r.text, 'ConnectTimeout|NewConnectionError|(?i)connect(ion)? timed? ?out|dial tcp|failed to establish')
    group by f.failure_id, f.cluster, f.stall_ns, f.spoke_ns
    having count(distinct r.endpoint) >= 3
)
select
    m.failure_id,
    m.endpoint_count,
    m.file_id,
    m.line_no
from met as m
left join (select n.* from node_fault as n join fault_kind as k on k.fault_kind = n.fault_kind and not k.takes_connections) as n on n.cluster = m.cluster and n.started_ns <= m.spoke_ns and n.ended_ns >= m.stall_ns
group by m.failure_id, m.endpoint_count, m.file_id, m.line_no
having m.endpoint_count > 2 * count(distinct n.node_id)
