-- A daemon's line that is a step of an x-get-batch failure chain, and which chain it belongs to:
-- the fault behind it, else a node that was away just then, else its xaction and time.
-- grain: one row a step
-- reads: ais_event, node_endpoint, node_fault, threshold
-- stored: yes
-- note: The fault behind a step is one of the peer that it names (or whose address it names), else
-- note: of the writer itself, that was on when the line was written; else that of its work item or
-- note: of the line beside it: `bcast abort` names neither request nor peer, the line written
-- note: microseconds later on the same node does. A missing object is a reason of its own: what a
-- note: node prints a second later of a peer does not explain it. The list of errors that an
-- note: xaction prints as it ends is no step of a request that had failed before. While a target
-- note: is away its objects are missing on the others, so a batch that breaks then without naming
-- note: anybody is put to that outage (is_ambient), from when it was away for certain; who waits
-- note: for a node that hangs waits, until it is missed. A target's own batches meet a lost disk
-- note: before it says so. Maintenance that begins aborts every
-- note: batch that runs, within outage_gap_s; aborts that no outage explains are one chain, of the
-- note: node that printed the first.
create or replace view chain_root as
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
fault as (
    select s.file_id, s.line_no, f.fault_id, f.node_id
    from (
        select *, peer_id as whom, true as is_peer from step
        union all
        select *, node_id, false from step
    ) as s
    join threshold as t on t.name = 'fault_slack_s'
    join node_fault as f on f.cluster = s.cluster and f.node_id = s.whom
    where case when s.is_peer then f.weight >= 0.5
            and s.utc_ns >= f.started_ns - t.value * 1000000000
            and s.utc_ns <= f.ended_ns + t.value * 1000000000
            else f.weight >= 0.6 and s.utc_ns between f.started_ns and f.ended_ns
            and f.fault_kind
                not in ('stale_membership', 'stopped', 'batches_aborted', 'jobs_refused')
            and (s.is_self_trouble or s.step in ('resource_pressure', 'rejected')
                or f.fault_kind = 'isolated') end
    qualify row_number() over (partition by s.file_id, s.line_no
        order by s.is_peer desc, f.weight desc, f.started_ns desc, f.fault_id) = 1
),
event as (
    select s.*, f.fault_id, f.node_id as suspect
    from step as s
    left join fault as f on f.file_id = s.file_id and f.line_no = s.line_no
),
told as (
    select e.* replace (
            coalesce(e.fault_id, w.fault_id) as fault_id,
            coalesce(e.suspect, w.suspect) as suspect),
        r.value::bigint * 1000000000 as reach_ns
    from event as e
    join threshold as r on r.name = 'chain_adjacent_s'
    left join (
        select cluster, wid, arg_min(fault_id, (utc_ns, file_id, line_no)) as fault_id,
            arg_min(suspect, (utc_ns, file_id, line_no)) as suspect
        from event
        where wid is not null and fault_id is not null
        group by cluster, wid
    ) as w on w.cluster = e.cluster and w.wid = e.wid
),
anchor as (
    select cluster, node_id, utc_ns, arg_min(fault_id, line_no) as fault_id,
        arg_min(suspect, line_no) as suspect
    from told
    where fault_id is not null
    group by cluster, node_id, utc_ns
),
wid_anchor as (
    select cluster, node_id, utc_ns, min(wid) as wid
    from step
    where wid is not null
    group by cluster, node_id, utc_ns
),
near as (
    select
        if(t.step = 'missing_entry', 10000000, t.reach_ns) as ahead_ns,
        t.* replace (
            coalesce(t.fault_id, case when b.utc_ns - t.utc_ns <= ahead_ns then b.fault_id end,
                case when t.utc_ns - a.utc_ns <= t.reach_ns then a.fault_id end)
                as fault_id,
            coalesce(t.suspect, case when b.utc_ns - t.utc_ns <= ahead_ns then b.suspect end,
                case when t.utc_ns - a.utc_ns <= t.reach_ns then a.suspect end)
                as suspect,
            coalesce(t.wid, case when w.utc_ns - t.utc_ns <= 10000000 then w.wid end) as wid)
    from told as t
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
link as (
    select n.* replace (coalesce(n.fault_id, a.fault_id) as fault_id),
        coalesce(n.suspect, a.suspect) as suspect_node_id
    from near as n
    left join (
        select cluster, wid, arg_min(fault_id, (utc_ns, file_id, line_no)) as fault_id,
            arg_min(suspect, (utc_ns, file_id, line_no)) as suspect
        from near
        where wid is not null and fault_id is not null
        group by cluster, wid
    ) as a on a.cluster = n.cluster and a.wid = n.wid
),
outage as (
    select
        fault_id, fault_kind, cluster, node_id, ended_ns, weight, known_ns,
        case when known_ns - started_ns > t.value * 1e9 then known_ns else started_ns end
            as started_ns
    from node_fault
    join threshold as t on t.name = 'notice_s'
    where fault_kind in ('killed', 'crashed', 'hung', 'down', 'stopped', 'isolated', 'disk_fault')
        and role = 'target'
),
ambient as (
    select l.file_id, l.line_no, arg_max(o.fault_id, (o.started_ns, o.fault_id)) as fault_id,
        arg_max(o.node_id, (o.started_ns, o.fault_id)) as node_id
    from (select *, max(age_ns) over (partition by cluster, node_id, wid) as waited_ns
        from link)
        as l
    join threshold as p on p.name = 'hung_wait_s'
    join outage as o on o.cluster = l.cluster
        and (o.node_id <> l.node_id or o.fault_kind = 'disk_fault')
        and l.utc_ns >= o.started_ns
            - case when o.node_id = l.node_id then l.reach_ns else 0 end
        and l.utc_ns <= o.ended_ns + 5000000000
        and (o.fault_kind <> 'hung' or l.utc_ns >= o.known_ns
            or coalesce(l.waited_ns >= p.value * 1e9, true))
    where l.fault_id is null
        and l.step
            in ('soft_errors', 'missing_entry', 'short_batch', 'aborted', 'abort_broadcast',
                'entry_timeout', 'sender_late')
    group by l.file_id, l.line_no
),
abort as (
    select cluster, xid, utc_ns
    from link
    where starts_with(pattern, 'ais_get_batch_aborted') and xid is not null
),
halted as (
    select l.file_id, l.line_no, max(m.node_id) as node_id, max(m.fault_id) as fault_id,
        arg_min(s.node_id, (s.started_ns, s.fault_id)) as self_id,
        arg_min(s.fault_id, (s.started_ns, s.fault_id)) as self_fault
    from link as l
    join node_fault as s on s.cluster = l.cluster and s.fault_kind = 'batches_aborted'
        and l.utc_ns >= s.started_ns - 5000000000 and l.utc_ns <= s.ended_ns + 20000000000
        and l.utc_ns - coalesce(l.age_ns, 0) <= s.ended_ns + 1000000000
    join threshold as t on t.name = 'outage_gap_s'
    left join node_fault as m on m.cluster = l.cluster and m.fault_kind = 'maintenance'
        and m.role = 'target' and m.started_ns <= l.utc_ns
        and l.utc_ns - m.started_ns <= t.value * 1000000000
    left join abort as a on a.cluster = l.cluster and a.xid = l.xid
        and a.utc_ns between s.started_ns and s.ended_ns + 1000000000
    where l.fault_id is null and l.step in ('short_batch', 'aborted', 'abort_broadcast')
        and (l.xid is null or a.xid is not null)
    group by l.file_id, l.line_no
),
keyed as (
    select
        l.* exclude (fault_id, suspect_node_id),
        coalesce(l.fault_id, a.fault_id, h.fault_id, h.self_fault) as fault_id,
        coalesce(l.suspect_node_id, a.node_id, h.node_id, h.self_id) as suspect_node_id,
        l.fault_id is null and a.fault_id is not null as is_ambient,
        case
            when coalesce(l.fault_id, a.fault_id, h.fault_id, h.self_fault) is null
                then coalesce(l.xid, l.wid, l.node_id) end
            as loose_key
    from link as l
    left join ambient as a on a.file_id = l.file_id and a.line_no = l.line_no
    left join halted as h on h.file_id = l.file_id and h.line_no = l.line_no
),
gapped as (
    select *, utc_ns - lag(utc_ns) over (partition by cluster, loose_key order by utc_ns) as gap_ns
    from keyed
)
select
    cluster, node_id, utc_ns, step, xid, wid, peer_id, role, severity, pattern, bucket, object,
    error, received_count, age_ns,
    is_streaming, file_id, line_no, text, message, fault_id, suspect_node_id, is_ambient,
    coalesce(
        fault_id,
        loose_key || '/'
            || sum(
                case when gap_ns is null
                    or gap_ns
                        > (select value * 1000000000 from threshold where name = 'chain_gap_s')
                        then 1
                    else 0 end)
            over (partition by cluster, loose_key order by utc_ns)::varchar
    ) as root_key
from gapped
