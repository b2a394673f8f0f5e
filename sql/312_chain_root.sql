-- Which chain a step belongs to: the fault behind it, else a node that was away just then, else its
-- xaction and time.
-- grain: one row a step
-- reads: chain_link, node_fault, threshold
-- stored: yes
-- note: While a target is away its objects are missing on the others, so a batch that breaks then
-- note: without naming anybody is put to that outage (is_ambient), from when it was away for
-- note: certain; who waits for a node that hangs waits, until it is missed. Maintenance that
-- note: begins aborts every batch that runs, within outage_gap_s; aborts that no outage explains
-- note: are one chain, of the node that printed the first.
create or replace view chain_root as
with outage as (
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
        from chain_link)
        as l
    join threshold as p on p.name = 'hung_wait_s'
    join outage as o on o.cluster = l.cluster
        and (o.node_id <> l.node_id or o.fault_kind = 'disk_fault') and l.utc_ns >= o.started_ns
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
    from chain_link
    where starts_with(pattern, 'ais_get_batch_aborted') and xid is not null
),
halted as (
    select l.file_id, l.line_no, max(m.node_id) as node_id, max(m.fault_id) as fault_id,
        arg_min(s.node_id, (s.started_ns, s.fault_id)) as self_id,
        arg_min(s.fault_id, (s.started_ns, s.fault_id)) as self_fault
    from chain_link as l
    join node_fault as s on s.cluster = l.cluster and s.fault_kind = 'batches_aborted'
        and l.utc_ns >= s.started_ns - 5000000000 and l.utc_ns <= s.ended_ns + 20000000000
        and l.utc_ns - coalesce(l.age_ns, 0) <= s.ended_ns + 1000000000
        and (l.xid is null or exists (
            from abort as a where a.cluster = l.cluster and a.xid = l.xid
                and a.utc_ns between s.started_ns and s.ended_ns + 1000000000))
    join threshold as t on t.name = 'outage_gap_s'
    left join node_fault as m on m.cluster = l.cluster and m.fault_kind = 'maintenance'
        and m.role = 'target' and m.started_ns <= l.utc_ns
        and l.utc_ns - m.started_ns <= t.value * 1000000000
    where l.fault_id is null and l.step in ('short_batch', 'aborted', 'abort_broadcast')
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
    from chain_link as l
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
