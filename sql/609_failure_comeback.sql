-- What became of the node that failed a rank: when it was back, when the cluster map lost it, when
-- the rank last asked for it.
-- grain: one row a failure whose node was away
-- reads: failure_lead, node_fault, node_process, node_witness, chain_rank_match,
-- reads: get_batch_chain_step, fault_kind
-- case: yes
-- note: back_ns is the end of the outage where a line says so, as in the timeline, else the start
-- note: of its next process, but not while it lacks objects for another reason. Null is what no log
-- note: available says.
create or replace view failure_comeback as
with away as (
    select l.failure_id, l.fault_id, l.culprit_rank, l.chain_id, n.cluster, n.node_id, n.started_ns,
        n.ended_ns
    from failure_lead as l
    join node_fault as n on n.fault_id = l.fault_id
        and n.fault_kind in ('killed', 'crashed', 'hung', 'down', 'stopped')
),
started as (
    select a.failure_id, min(epoch_ns(p.started_at)) as back_ns
    from away as a
    join node_process as p on p.cluster = a.cluster and p.node_id = a.node_id
        and epoch_ns(p.started_at) > a.started_ns
    group by a.failure_id
),
witnessed as (
    select
        a.failure_id,
        min(w.utc_ns)
            filter (where w.effect in ('ready', 'back') and w.utc_ns >= a.ended_ns - 1000000)
                as back_ns,
        min(w.utc_ns) filter (where w.effect = 'removed') as removed_ns
    from away as a
    join node_witness as w on w.cluster = a.cluster and w.node_id = a.node_id
        and w.utc_ns > a.started_ns and w.utc_ns <= a.ended_ns + 60000000000
    group by a.failure_id
),
asked as (
    select a.failure_id, max(s.utc_ns) as asked_ns
    from away as a
    join chain_rank_match as m on m.failure_id = a.failure_id and m.rank = a.culprit_rank
        and m.chain_id = a.chain_id and m.match_kind = 'wid'
    join get_batch_chain_step as s on s.chain_id = m.chain_id and s.file_id = m.ais_file_id
        and s.line_no = m.ais_line_no
    group by a.failure_id
)
select
    a.failure_id, a.cluster, a.node_id,
    a.started_ns as gone_ns,
    case when not exists (
        from node_fault as o
        join fault_kind as k on k.fault_kind = o.fault_kind and k.takes_away
        where o.cluster = a.cluster and o.node_id = a.node_id and o.fault_id <> a.fault_id
            and o.weight >= 0.5 and coalesce(w.back_ns, s.back_ns)
                between o.started_ns and epoch_ns(o.last_sign_at) - 1
    ) then coalesce(w.back_ns, s.back_ns) end as back_ns,
    w.removed_ns,
    k.asked_ns
from away as a
left join started as s on s.failure_id = a.failure_id
left join witnessed as w on w.failure_id = a.failure_id
left join asked as k on k.failure_id = a.failure_id
