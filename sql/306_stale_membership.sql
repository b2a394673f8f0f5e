-- A span in which targets that restarted streams under an old cluster map could not reach a
-- restarted target.
-- grain: one row a restarted target and cluster map version its peers were stuck with
-- reads: ais_event, node_process, node_outage, counter_delta, threshold
-- stored: yes
-- note: AIStore 5.0: after a restart the peers' shared-dm may keep an old Smap; each missing entry
-- note: then waits max_wait (20 s), with hardly a line: the senders' list at the end of the xaction
-- note: names the destination that was missing. Get-from-neighbour attempts that end as soft errors
-- note: are missing objects, answered at once, and no sign.
create or replace view stale_membership as
with sign as (
    select e.cluster, e.peer_node_id as node_id, e.node_id as sender_id, e.utc_ns, e.file_id,
        e.line_no, e.text, true as is_stated
    from ais_event as e
    where e.peer_node_id is not null
        and (e.chain_step = 'destination_missing' or contains(e.message, 'destination missing'))
    union all
    select e.cluster, e.node_id, e.node_id as sender_id, e.utc_ns, e.file_id, e.line_no, e.text,
        false as is_stated
    from ais_event as e
    join threshold as t on t.name = 'sender_wait_s'
    where e.age_ns >= t.value * 1e9
        and coalesce(json_extract_string(e.capture, '$.gfn_count')::integer, 0) > 0
    union all
    select d.cluster, d.node_id, d.node_id as sender_id, d.utc_ns, d.file_id, d.line_no,
        'getbatch.gfn.n:' || d.value::varchar as text, false as is_stated
    from counter_delta as d
    left join counter_delta as m on m.file_id = d.file_id and m.line_no = d.line_no
        and m.counter = 'err.soft.getbatch.n'
    where d.counter = 'getbatch.gfn.n' and d.delta > coalesce(m.delta, 0)
),
restart as (
    select cluster, node_id, started_ns from node_process
        where started_ns is not null and process_seq > 1
    union all
    select cluster, node_id, ended_ns as started_ns from node_outage
),
started as (
    select s.*, r.started_ns as restarted_ns
    from sign as s
    asof
        left join restart as r on r.cluster = s.cluster and r.node_id = s.node_id
            and s.utc_ns >= r.started_ns
    where s.is_stated or (
        s.utc_ns
            - r.started_ns
                < (select value * 1000000000 from threshold where name = 'stale_effect_s')
        and not exists (
            select 1 from node_outage as o
            where o.cluster = s.cluster and o.node_id <> s.node_id and o.started_ns <= s.utc_ns
                and o.ended_ns >= s.utc_ns - 30000000000
        )
    )
)
select
    cluster,
    node_id,
    coalesce(max(restarted_ns), min(utc_ns) - 600000000000) as started_ns,
    max(utc_ns) as ended_ns,
    count(distinct sender_id) as sender_count,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_min(text, (utc_ns, file_id, line_no)) as text
from started
group by cluster, node_id, restarted_ns
