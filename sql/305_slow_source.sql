-- A span in which clients of an AIStore node waited longer for what it had to read from its remote
-- backend than they wait by default.
-- grain: one row a node and span
-- reads: read_growth, threshold
-- stored: yes
-- note: The first read of an object that is not in the cluster (a cold read) ends when all of it is
-- note: here, and is counted when it ends: the reads of an interval began by their mean duration
-- note: before it. Only what the node's own reads waited for too counts, so that a prefetch is
-- note: none. known_ns: the latest moment that fits the begin.
create or replace view slow_source as
with grown as (
    select b.*, b.took_ns / b.read_count as mean_ns,
        mean_ns >= p.value * 1000000000 and coalesce(a.took_ns >= 0.9 * b.took_ns, false) as is_slow
    from read_growth as b
    left join read_growth as a on a.file_id = b.file_id and a.line_no = b.line_no
        and a.backend is null
    join threshold as p on p.name = 'cold_read_s'
    where b.node_role = 'target' and b.backend is not null and b.read_count > 0 and b.took_ns > 0
),
slow as (
    select *, previous_ns - mean_ns::bigint as started_ns, utc_ns - mean_ns::bigint as known_ns
    from grown
    where is_slow
),
marked as (
    select *,
        started_ns - max(utc_ns)
            over (partition by cluster order by started_ns, node_id,
                utc_ns rows between unbounded preceding and 1 preceding)
                as gap_ns
    from slow
),
numbered as (
    select m.*,
        sum(case when m.gap_ns is null or m.gap_ns > p.value * 1000000000 then 1 else 0 end)
            over (partition by m.cluster order by m.started_ns, m.node_id, m.utc_ns) as span_no
    from marked as m
    join threshold as p on p.name = 'fault_gap_s'
),
spread as (
    select s.cluster, s.span_no, s.slow_count, count(distinct g.node_id) as read_count
    from (select cluster, span_no, min(started_ns) as started_ns, max(utc_ns) as ended_ns,
        count(distinct node_id) as slow_count
        from numbered group by cluster, span_no)
        as s
    join grown as g on g.cluster = s.cluster and g.utc_ns > s.started_ns
        and g.utc_ns - g.mean_ns < s.ended_ns
    group by s.cluster, s.span_no, s.slow_count
)
select
    n.cluster, n.node_id,
    min(n.started_ns) as started_ns,
    min(n.known_ns) as known_ns,
    max(n.utc_ns) as ended_ns,
    sum(n.read_count)::bigint as read_count,
    any_value(s.slow_count) >= 2
        and any_value(s.slow_count) * 2 >= any_value(s.read_count) as is_everywhere,
    arg_min(n.file_id, (n.utc_ns, n.file_id, n.line_no)) as file_id,
    arg_min(n.line_no, (n.utc_ns, n.file_id, n.line_no)) as line_no,
    'reads from ' || any_value(n.backend) || ' took '
        || round(sum(n.mean_ns * n.read_count) / sum(n.read_count) / 1e9)::bigint::varchar
        || ' s on average (' || sum(n.read_count)::bigint::varchar || ' in this time)' as text
from numbered as n
join spread as s on s.cluster = n.cluster and s.span_no = n.span_no
group by n.cluster, n.node_id, n.span_no
