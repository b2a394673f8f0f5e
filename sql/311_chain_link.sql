-- A step of an x-get-batch chain with the fault behind it, by its peer, its work item or the line
-- beside it.
-- grain: one row a step
-- reads: chain_event, threshold
-- stored: yes
-- note: `bcast abort` names neither request nor peer; the line written microseconds later on the
-- note: same node does. A missing object is a reason of its own: what a node prints a second later
-- note: of a peer does not explain it.
create or replace view chain_link as
with by_wid as (
    select cluster, wid, arg_min(fault_id, (utc_ns, file_id, line_no)) as fault_id,
        arg_min(suspect_node_id, (utc_ns, file_id, line_no)) as suspect_node_id
    from chain_event
    where wid is not null and fault_id is not null
    group by cluster, wid
),
told as (
    select e.*, coalesce(e.fault_id, w.fault_id) as told_fault,
        coalesce(e.suspect_node_id, w.suspect_node_id) as told_suspect
    from chain_event as e
    left join by_wid as w on w.cluster = e.cluster and w.wid = e.wid
),
anchor as (
    select cluster, node_id, utc_ns, arg_min(told_fault, line_no) as fault_id,
        arg_min(told_suspect, line_no) as suspect
    from told
    where told_fault is not null
    group by cluster, node_id, utc_ns
),
wid_anchor as (
    select cluster, node_id, utc_ns, min(wid) as wid
    from chain_event
    where wid is not null
    group by cluster, node_id, utc_ns
),
reach as (
    select value::bigint * 1000000000 as ns from threshold where name = 'chain_adjacent_s'
),
near as (
    select
        t.*,
        if(t.step = 'missing_entry', 10000000, r.ns) as ahead_ns,
        coalesce(t.told_fault, case when b.utc_ns - t.utc_ns <= ahead_ns then b.fault_id end,
            case when t.utc_ns - a.utc_ns <= r.ns then a.fault_id end)
            as near_fault,
        coalesce(t.told_suspect, case when b.utc_ns - t.utc_ns <= ahead_ns then b.suspect end,
            case when t.utc_ns - a.utc_ns <= r.ns then a.suspect end)
            as near_suspect,
        coalesce(t.wid, case when w.utc_ns - t.utc_ns <= 10000000 then w.wid end) as near_wid
    from told as t
    cross join reach as r
    asof
        left join anchor as a on a.cluster = t.cluster and a.node_id = t.node_id
            and t.utc_ns >= a.utc_ns
    asof
        left join anchor as b on b.cluster = t.cluster and b.node_id = t.node_id
            and t.utc_ns <= b.utc_ns
    asof
        left join wid_anchor as w on w.cluster = t.cluster and w.node_id = t.node_id
            and t.utc_ns <= w.utc_ns
),
again as (
    select cluster, near_wid as wid, arg_min(near_fault, (utc_ns, file_id, line_no)) as fault_id,
        arg_min(near_suspect, (utc_ns, file_id, line_no)) as suspect
    from near
    where near_wid is not null and near_fault is not null
    group by cluster, near_wid
)
select
    n.cluster, n.node_id, n.utc_ns, n.step, n.xid,
    n.near_wid as wid,
    n.peer_id, n.role, n.severity, n.pattern, n.bucket, n.object, n.error, n.received_count,
    n.age_ns, n.is_streaming,
    n.file_id, n.line_no, n.text, n.message,
    coalesce(n.near_fault, a.fault_id) as fault_id,
    coalesce(n.near_suspect, a.suspect) as suspect_node_id
from near as n
left join again as a on a.cluster = n.cluster and a.wid = n.near_wid
