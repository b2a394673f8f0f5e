-- A span of time in which something was wrong with an AIStore node, whatever it was.
-- grain: one row a fault of a node
-- reads: node_outage, node_trouble, stale_membership, node, fault_kind
-- public: yes
-- stored: yes
-- note: weight says how much a fault of this kind explains a client that waits or fails: 1 = a node that is gone, 0 = housekeeping.
create or replace view node_fault as
with every as (
    select cluster, node_id, fault_kind, started_ns, ended_ns, case when fault_kind = 'killed' then started_ns else first_ns end as sign_ns, witness_count, cut_count, file_id, line_no, text
    from node_outage
    union all
    select cluster, node_id, fault_kind, started_ns, ended_ns, started_ns as sign_ns, sign_count as witness_count, 0 as cut_count, file_id, line_no, text
    from node_trouble
    union all
    select cluster, node_id, 'stale_membership' as fault_kind, started_ns, ended_ns, started_ns as sign_ns, sender_count as witness_count, 0 as cut_count, file_id, line_no, text
    from stale_membership
)
select
    e.cluster || '/' || e.node_id || '/' || e.fault_kind || '/' || strftime(make_timestamp_ns(e.started_ns)::timestamp, '%m%dT%H%M%S') as fault_id,
    e.cluster,
    e.node_id,
    n.role,
    e.fault_kind,
    make_timestamp_ns(e.started_ns) as started_at,
    make_timestamp_ns(e.ended_ns) as ended_at,
    coalesce(k.weight, 0.0) as weight,
    e.started_ns,
    e.ended_ns,
    e.sign_ns,
    e.witness_count,
    e.cut_count,
    e.file_id,
    e.line_no,
    e.text
from every as e
left join node as n on n.cluster = e.cluster and n.node_id = e.node_id
left join fault_kind as k on k.fault_kind = e.fault_kind
