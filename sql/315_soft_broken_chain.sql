-- A broken batch whose designated target counted entries that were not there, while no node was in trouble: they were not anywhere.
-- grain: one row a chain
-- reads: get_batch_chain, ais_event, counter_delta, node_fault, fault_kind, threshold
-- stored: yes
-- note: A streamed batch that misses more entries than it may (max_soft_errs) prints the same words as one that a dead sender broke; only the counter err.soft.getbatch.n of the target tells, and of a batch that was not streamed its own line. Where that target missed entries before as well, its count says less (is_usual). While objects are away with a node, or were evicted or lost with a disk before, missing entries are the storage's doing.
create or replace view soft_broken_chain as
with bare as (
    select c.chain_id, c.cluster, c.designated_node_id, c.started_ns, c.ended_ns
    from get_batch_chain as c
    where c.fault_id is null and c.designated_node_id is not null and (c.suspect_node_id is null or c.suspect_node_id = c.designated_node_id)
        and not exists (
            select 1 from node_fault as f
            join fault_kind as k on k.fault_kind = f.fault_kind and (k.takes_away or f.weight >= 0.6)
            cross join threshold as t
            where t.name = 'fault_slack_s' and f.cluster = c.cluster and f.started_ns <= c.ended_ns + t.value * 1000000000
                and (f.ended_ns >= c.started_ns - t.value * 1000000000 or f.fault_kind in ('evicting', 'disk_fault'))
        )
),
sign as (
    select b.chain_id, b.cluster, b.designated_node_id, json_extract_string(e.capture, '$.soft_error_count')::bigint as soft_count, e.utc_ns, e.file_id, e.line_no, 1 as position
    from bare as b
    join ais_event as e on e.cluster = b.cluster and e.node_id = b.designated_node_id and e.pattern = 'ais_get_batch_soft_error_limit' and e.utc_ns between b.started_ns and b.ended_ns
    union all
    select b.chain_id, b.cluster, b.designated_node_id, d.delta as soft_count, d.utc_ns, d.file_id, d.line_no, 2 as position
    from bare as b
    join counter_delta as d on d.cluster = b.cluster and d.node_id = b.designated_node_id and d.counter = 'err.soft.getbatch.n' and d.previous_ns <= b.started_ns and d.utc_ns >= b.started_ns
    where d.delta > (select value from threshold where name = 'soft_errors_least')
),
usual as (
    select distinct s.chain_id
    from sign as s
    join counter_delta as d on d.cluster = s.cluster and d.node_id = s.designated_node_id and d.counter = 'err.soft.getbatch.n' and d.delta > 0 and s.position = 2 and d.utc_ns < s.utc_ns
)
select
    chain_id,
    any_value(cluster) as cluster,
    any_value(designated_node_id) as node_id,
    arg_min(soft_count, (position, utc_ns, file_id, line_no)) as soft_count,
    min(position) = 1 as is_stated,
    min(position) = 2 and bool_or(chain_id in (select u.chain_id from usual as u)) as is_usual,
    arg_min(file_id, (position, utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (position, utc_ns, file_id, line_no)) as line_no
from sign
group by chain_id
