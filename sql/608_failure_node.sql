-- An AIStore node held responsible for a failure.
-- grain: one row a failure and node
-- reads: root_cause, storage_link, get_batch_chain, node_fault, fault_kind, node, failure_coverage,
-- reads: threshold
-- case: kept
-- note: The node of the verdict; further ones only if another culprit rank is clearly better tied
-- note: to them, or if they went in the same seconds and broke the same request of the chain, or
-- note: others that the rank may have been at, or the moment alone is what ties it to either. Nodes
-- note: that only took part are steps of chains.
create or replace view failure_node as
with guilty as (
    select failure_id, node_id, chain_id, statement
    from root_cause
    where place = 1 and node_id is not null and storage_verdict = 'guilty'
),
best as (
    select failure_id, rank, node_id, max(score) as score
    from storage_link
    group by failure_id, rank, node_id
),
other as (
    select b.failure_id, b.node_id, b.rank, b.score
    from best as b
    join guilty as g on g.failure_id = b.failure_id and g.node_id <> b.node_id
    left join best as o on o.failure_id = b.failure_id and o.rank = b.rank and o.node_id = g.node_id
    where b.score >= 0.7
        and b.score
            - coalesce(o.score, 0) > (select value from threshold where name = 'verdict_margin')
    qualify row_number()
        over (partition by b.failure_id, b.rank order by b.score desc, b.node_id) = 1
),
twin as (
    select distinct g.failure_id, c.suspect_node_id as node_id
    from guilty as g
    join get_batch_chain as a on a.chain_id = g.chain_id and a.suspect_node_id = g.node_id
    join node_fault as n on n.fault_id = a.fault_id
    join get_batch_chain as c on c.cluster = a.cluster and c.suspect_node_id <> g.node_id
        and (list_has_any(c.wids, a.wids)
            or exists (from storage_link as l
                where l.failure_id = g.failure_id and l.chain_id = c.chain_id and l.score >= 0.7))
    join node_fault as o on o.fault_id = c.fault_id
    join fault_kind as k on k.fault_kind = o.fault_kind and k.takes_away and k.weight >= 0.9
    join threshold as t on t.name = 'fault_slack_s'
    where o.fault_kind = n.fault_kind and abs(o.started_ns - n.started_ns) <= t.value * 1e9
    union
    select b.failure_id, o.node_id
    from best as b
    join guilty as g on g.failure_id = b.failure_id and g.node_id = b.node_id
    join storage_link as l on l.failure_id = b.failure_id and l.rank is not distinct from b.rank
        and l.node_id = b.node_id and l.score = b.score and l.link_kind = 'fault_time'
    join storage_link as o on o.failure_id = l.failure_id and o.rank is not distinct from l.rank
        and o.node_id <> l.node_id and o.link_kind = l.link_kind and o.fault_kind = l.fault_kind
        and o.score >= l.score - 0.05
    join node as p on p.node_id = l.node_id
    join node as q on q.node_id = o.node_id and q.cluster = p.cluster and q.role = p.role
    join fault_kind as k on k.fault_kind = o.fault_kind and k.takes_away and k.weight >= 0.9
    join threshold as t on t.name = 'fault_slack_s' and abs(o.lag_s - l.lag_s) <= t.value
),
every as (
    select failure_id, node_id, statement as why, 1 as position from guilty
    union all
    select o.failure_id, o.node_id, 'rank ' || min(o.rank)::varchar || ' is linked to this node', 2
    from other as o
    group by o.failure_id, o.node_id
    union all
    select failure_id, node_id,
        'it went in the same seconds, and the requests of that moment may have been at either', 3
        from twin
)
select
    e.failure_id,
    n.cluster,
    e.node_id,
    n.role,
    n.host,
    e.why,
    e.position::integer as position,
    n.file_id,
    n.line_no
from every as e
left join failure_coverage as c on c.failure_id = e.failure_id
left join node as n on n.node_id = e.node_id and n.cluster is not distinct from c.cluster
qualify row_number() over (partition by e.failure_id, e.node_id order by e.position) = 1
