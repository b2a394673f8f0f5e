-- A span in which an AIStore node alone complained of most of its peers, all of which wrote on: it
-- was cut off, not they.
-- grain: one row a span of a node
-- reads: node_witness, ais_event, stats_reading, node, threshold
-- stored: yes
-- note: A complaint is believed where another node complains of that peer within outage_gap_s, or
-- note: the peer itself ended, was overloaded or was removed then; by the complaining node itself
-- note: that tells only where the peer was silent too for so long. Else it counts against its
-- note: writer, as far as the log of the peer is available and goes on.
create or replace view isolated_node as
with complaint as (
    select cluster, witness_id, node_id as peer_id, utc_ns, file_id, line_no, text
    from node_witness
    where witness_id <> node_id and effect in ('cut', 'unreachable', 'down')
),
backed as (
    select cluster, node_id as peer_id, witness_id, effect, utc_ns
    from node_witness
    where effect
        in ('cut', 'unreachable', 'down', 'removed', 'killed', 'stopping', 'stopped', 'fatal',
            'panic', 'maintenance', 'rejecting', 'oom', 'low_memory', 'files_exhausted',
            'goroutines_high')
),
line as (
    select cluster, node_id, utc_ns from ais_event
    union all
    select cluster, node_id, utc_ns from stats_reading
),
wrote as (
    select c.file_id, c.line_no, l.utc_ns as next_ns
    from complaint as c
    asof join line as l on l.cluster = c.cluster and l.node_id = c.peer_id and c.utc_ns < l.utc_ns
),
lone as (
    select c.*
    from complaint as c
    join threshold as g on g.name = 'outage_gap_s'
    join wrote as w on w.file_id = c.file_id and w.line_no = c.line_no
    where not exists (
        select 1 from backed as b
        where b.cluster = c.cluster and b.peer_id = c.peer_id
            and abs(b.utc_ns - c.utc_ns) <= g.value * 1000000000
            and (b.witness_id <> c.witness_id
                or (b.effect = 'removed' and w.next_ns > c.utc_ns + g.value * 1000000000))
    )
),
marked as (
    select *, utc_ns - lag(utc_ns) over (partition by cluster, witness_id order by utc_ns) as gap_ns
    from lone
),
numbered as (
    select m.*,
        sum(case when m.gap_ns is null or m.gap_ns > g.value * 1000000000 then 1 else 0 end)
            over (partition by m.cluster, m.witness_id order by m.utc_ns) as span_no
    from marked as m
    join threshold as g on g.name = 'fault_gap_s'
),
target as (
    select cluster, count(*) as target_count from node where role = 'target' group by cluster
)
select
    n.cluster,
    n.witness_id as node_id,
    min(n.utc_ns) as started_ns,
    max(n.utc_ns) as ended_ns,
    count(distinct n.peer_id) as peer_count,
    arg_min(n.file_id, (n.utc_ns, n.file_id, n.line_no)) as file_id,
    arg_min(n.line_no, (n.utc_ns, n.file_id, n.line_no)) as line_no,
    arg_min(n.text, (n.utc_ns, n.file_id, n.line_no)) as text
from numbered as n
left join target as t on t.cluster = n.cluster
join threshold as p on p.name = 'isolated_peers'
group by n.cluster, n.witness_id, n.span_no, t.target_count, p.value
having count(distinct n.peer_id) >= least(p.value, greatest(2, coalesce(t.target_count, 0) - 1))
