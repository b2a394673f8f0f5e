-- A step of an x-get-batch failure chain, in the order in which it happened.
-- grain: one row a step of a chain; repeated lines of one kind and node are one step with a count
-- reads: chain_root, get_batch_chain, node_fault
-- public: yes
-- stored: yes
create or replace view get_batch_chain_step as
with step as (
    select
        c.chain_id, r.cluster, r.step, r.node_id, r.wid, r.utc_ns, r.file_id, r.line_no, r.text,
        r.message, r.severity,
        r.peer_id, r.received_count, r.age_ns,
        row_number()
            over (partition by c.chain_id, r.step, r.node_id, r.wid, r.pattern order by r.utc_ns,
                r.line_no)
                as repeat_no,
        count(*)
            over (partition by c.chain_id, r.step, r.node_id, r.wid, r.pattern) as repeat_count,
        max(r.utc_ns)
            over (partition by c.chain_id, r.step, r.node_id, r.wid, r.pattern) as last_ns,
        true as is_exact
    from chain_root as r
    join get_batch_chain as c on c.cluster = r.cluster and c.root_key = r.root_key
),
began as (
    select
        c.chain_id, c.cluster, 'node_loss' as step, f.node_id, null as wid, f.started_ns as utc_ns,
        f.file_id, f.line_no, f.text,
        'begins: ' || f.fault_kind as message, null as severity, f.node_id as peer_id,
        null as received_count, null as age_ns, 1 as repeat_count, f.ended_ns as last_ns,
        f.is_dated as is_exact
    from get_batch_chain as c
    join node_fault as f on f.fault_id = c.fault_id
    where f.fault_kind
        in ('killed', 'crashed', 'hung', 'down', 'stopped', 'stale_membership', 'maintenance')
)
select
    chain_id, cluster,
    row_number()
        over (partition by chain_id order by utc_ns, starts_with(message, 'begins: ') desc, file_id,
            line_no)
            as step_no,
    make_timestamp_ns(utc_ns) as event_at, step, node_id, wid, message, peer_id as peer_node_id,
    repeat_count,
    make_timestamp_ns(last_ns) as last_at, received_count, age_ns, utc_ns, file_id, line_no, text,
    is_exact
from (
    select chain_id, cluster, step, node_id, wid, utc_ns, file_id, line_no, text, message, severity,
        peer_id, received_count, age_ns, repeat_count, last_ns, is_exact
    from step
    where repeat_no = 1
    union all
    select chain_id, cluster, step, node_id, wid, utc_ns, file_id, line_no, text, message, severity,
        peer_id, received_count, age_ns, repeat_count, last_ns, is_exact
    from began
)
