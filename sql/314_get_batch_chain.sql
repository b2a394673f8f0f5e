-- One x-get-batch failure chain, from what began it on a node to the last request it broke.
-- grain: one row a chain
-- reads: chain_root, chain_request, node_fault
-- public: yes
-- stored: yes
-- note: suspect_node_id is the node where it began, followed through the peers that lines name;
-- note: null where the lines name nobody. A stale membership that only counters tell of is a chain
-- note: without requests. designated_node_id is the target that was to assemble most of the broken
-- note: requests; chain_request tells each.
create or replace view get_batch_chain as
with chain as (
    select
        cluster,
        root_key,
        min(utc_ns) as first_ns,
        max(utc_ns) as last_ns,
        max(fault_id) as fault_id,
        coalesce(max(suspect_node_id),
            mode(peer_id order by peer_id)
                filter (
                    where peer_id is not null
                        and step
                            in ('destination_missing', 'entry_timeout', 'stream_break',
                                'sender_late')))
            as suspect_node_id,
        mode(node_id order by node_id)
            filter (
                where step
                    in ('short_batch', 'aborted', 'abort_broadcast', 'entry_timeout', 'soft_errors',
                        'rejected', 'missing_entry'))
                as dt_id,
        mode(xid order by xid) filter (where xid is not null) as xid,
        list(distinct wid order by wid) filter (where wid is not null) as wids,
        count(distinct wid) as wid_count,
        count(*) as line_count,
        count(*)
            filter (
                where step
                    in ('short_batch', 'aborted', 'abort_broadcast', 'entry_timeout', 'soft_errors',
                        'rejected', 'client_error', 'destination_missing', 'missing_entry',
                        'sender_late')
                    and role <> 'consequence')
                as break_count,
        bool_and(is_ambient or fault_id is null) as is_ambient,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from chain_root
    group by cluster, root_key
),
assembler as (
    select cluster, root_key, mode(designated_node_id order by designated_node_id) as node_id
    from chain_request
    where designated_node_id is not null
    group by cluster, root_key
),
every as (
    select c.* exclude (break_count) replace (coalesce(a.node_id, c.dt_id) as dt_id),
        c.break_count > 0 as is_broken
    from chain as c
    left join assembler as a on a.cluster = c.cluster and a.root_key = c.root_key
    union all by name
    select f.cluster, f.fault_id as root_key, f.started_ns as first_ns, f.ended_ns as last_ns,
        f.fault_id, f.node_id as suspect_node_id,
        0 as wid_count, 1 as line_count, true as is_broken, false as is_ambient, f.file_id,
        f.line_no
    from node_fault as f
    where f.fault_kind = 'stale_membership'
        and not exists (select 1 from chain as c where c.fault_id = f.fault_id)
)
select
    'chain-'
        || strftime(make_timestamp_ns(coalesce(f.started_ns, c.first_ns))::timestamp, '%m%dT%H%M%S')
        || '-' || coalesce(c.suspect_node_id, c.dt_id, c.xid, 'unknown')
        || case when f.fault_kind is not null then '-' || f.fault_kind
            else '-' || substr(md5(c.root_key), 1, 4) end
            as chain_id,
    c.cluster,
    c.root_key,
    c.xid,
    c.dt_id as designated_node_id,
    c.suspect_node_id,
    c.fault_id,
    f.fault_kind,
    coalesce(f.weight, 0.5) as fault_weight,
    make_timestamp_ns(least(coalesce(f.started_ns, c.first_ns), c.first_ns)) as started_at,
    make_timestamp_ns(c.last_ns) as ended_at,
    least(coalesce(f.started_ns, c.first_ns), c.first_ns) as started_ns,
    c.last_ns as ended_ns,
    c.wids,
    c.wid_count,
    c.line_count as step_count,
    c.is_ambient and c.fault_id is not null as is_ambient,
    c.file_id,
    c.line_no
from every as c
left join node_fault as f on f.fault_id = c.fault_id
where c.is_broken or f.weight >= 0.6
