-- A daemon's line that is a step of an x-get-batch failure chain, with the node it points at.
-- grain: one row a line
-- reads: ais_event, node_endpoint, node_fault, threshold
-- stored: yes
-- note: suspect is the peer the line names (or whose address it names); fault_id the fault of the
-- note: suspect, else of the writer itself, that was on when the line was written. The list of
-- note: errors that an xaction prints as it ends is no step of a request that had failed before.
create or replace view chain_event as
with step as (
    select
        e.cluster, e.node_id, e.utc_ns, e.chain_step as step, e.node_effect is not null
            and e.subject = 'self' as is_self_trouble, e.xid, e.wid, e.role, e.severity, e.pattern,
        coalesce(e.peer_node_id, n.node_id) as peer_id,
        e.bucket, e.object, e.error, e.received_count, e.age_ns, e.is_streaming,
        e.file_id, e.line_no, e.text, e.message
    from ais_event as e
    left join node_endpoint as n on n.cluster = e.cluster and n.endpoint = e.endpoint
        and n.node_id <> e.node_id
    join threshold as t on t.name = 'chain_adjacent_s'
    where e.chain_step is not null and e.role <> 'noise'
    qualify e.pattern is distinct from 'ais_assemble_failed'
        or e.utc_ns - min(e.utc_ns) over (partition by e.cluster, e.node_id, e.wid)
            <= t.value * 1e9
),
peer_fault as (
    select s.file_id, s.line_no, f.fault_id, f.weight
    from step as s
    join node_fault as f on f.cluster = s.cluster and f.node_id = s.peer_id and f.weight >= 0.5
        and s.utc_ns >= f.started_ns
            - (select value * 1000000000 from threshold where name = 'fault_slack_s')
        and s.utc_ns <= f.ended_ns
            + (select value * 1000000000 from threshold where name = 'fault_slack_s')
    qualify row_number()
        over (partition by s.file_id, s.line_no order by f.weight desc, f.started_ns desc,
            f.fault_id)
            = 1
),
self_fault as (
    select s.file_id, s.line_no, f.fault_id, f.weight
    from step as s
    join node_fault as f on f.cluster = s.cluster and f.node_id = s.node_id and f.weight >= 0.6
        and f.fault_kind not in ('stale_membership', 'stopped', 'batches_aborted', 'jobs_refused')
        and s.utc_ns >= f.started_ns and s.utc_ns <= f.ended_ns
    where s.is_self_trouble or s.step in ('resource_pressure', 'rejected')
        or f.fault_kind = 'isolated'
    qualify row_number()
        over (partition by s.file_id, s.line_no order by f.weight desc, f.started_ns desc,
            f.fault_id)
            = 1
)
select
    s.cluster,
    s.node_id,
    s.utc_ns,
    s.step,
    s.xid,
    s.wid,
    s.peer_id,
    coalesce(p.fault_id, f.fault_id) as fault_id,
    case when p.fault_id is not null then s.peer_id when f.fault_id is not null then s.node_id end
        as suspect_node_id,
    s.role,
    s.severity,
    s.pattern,
    s.bucket,
    s.object,
    s.error,
    s.received_count,
    s.age_ns,
    s.is_streaming,
    s.file_id,
    s.line_no,
    s.text,
    s.message
from step as s
left join peer_fault as p on p.file_id = s.file_id and p.line_no = s.line_no
left join self_fault as f on f.file_id = s.file_id and f.line_no = s.line_no
