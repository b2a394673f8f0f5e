-- Trouble of an AIStore node that broke batches or failed jobs: where a chain or a failure began.
-- grain: one row a node and beginning
-- reads: get_batch_chain, root_cause, failure, node_fault
-- public: yes
-- note: Several chains of one fault are one beginning, and so are the failures that it caused. The
-- note: beginning is the kind of the fault. A failure is counted where its verdict names the node.
create or replace view failure_beginning as
with verdict as (
    select
        r.failure_id, f.cluster, r.node_id, r.failure_kind as beginning, r.chain_id,
        coalesce(f.first_error_at, f.hang_started_at, f.window_started_at) as begun_at,
        f.window_started_at, f.window_ended_at
    from root_cause as r
    join failure as f on f.failure_id = r.failure_id
    where r.place = 1 and r.storage_verdict = 'guilty' and r.node_id is not null
),
fault as (
    select v.failure_id, n.fault_id, n.started_at
    from verdict as v
    join node_fault as n on n.cluster = v.cluster and n.node_id = v.node_id
        and n.fault_kind = v.beginning and n.started_at <= v.window_ended_at
        and n.ended_ns >= epoch_ns(v.window_started_at) - 300000000000
    qualify row_number() over (partition by v.failure_id order by n.started_at desc, n.fault_id) = 1
),
every as (
    select
        c.cluster, c.suspect_node_id as node_id, c.fault_kind as beginning,
        coalesce(c.fault_id, c.chain_id) as beginning_key, c.started_at as begun_at, c.chain_id,
        c.wid_count, null::varchar as failure_id
    from get_batch_chain as c
    where c.suspect_node_id is not null and c.fault_kind is not null
    union all
    select
        v.cluster, v.node_id, v.beginning,
        coalesce(c.fault_id, v.chain_id, f.fault_id, v.failure_id),
        coalesce(c.started_at, f.started_at, v.begun_at), null, 0, v.failure_id
    from verdict as v
    left join fault as f on f.failure_id = v.failure_id
    left join get_batch_chain as c on c.chain_id = v.chain_id
)
select
    e.cluster,
    e.node_id,
    e.beginning,
    min(e.begun_at) as begun_at,
    count(e.chain_id) as chain_count,
    sum(e.wid_count)::bigint as broken_request_count,
    coalesce(
        list(distinct e.failure_id order by e.failure_id) filter (where e.failure_id is not null),
        []
    ) as failure_ids
from every as e
group by e.cluster, e.node_id, e.beginning, e.beginning_key
