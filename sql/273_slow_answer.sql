-- A span in which a target took far longer to answer than it had before, and than its peers did
-- then.
-- grain: one row a target and span
-- reads: counter_reading, counter_delta, cold_counter, threshold
-- stored: yes
-- note: Compared are the latencies of one kind that statistics lines print (means of ten seconds),
-- note: with the median of the target's own before and of its peers within a minute. Reads that
-- note: waited for a remote backend do not count. One line is chance: two within fault_gap_s, or
-- note: two kinds of latency in one line, are needed.
create or replace view slow_answer as
with reading as (
    select r.cluster, r.node_id, r.counter, r.value, r.utc_ns, r.file_id, r.line_no
    from counter_reading as r
    where r.node_role = 'target' and r.value > 0
        and r.counter in ('get.ns', 'put.ns', 'get.redir.ns', 'put.redir.ns')
        and not (r.counter = 'get.ns' and exists (
            from counter_delta as d join cold_counter as k on k.counter = d.counter
            where d.file_id = r.file_id and d.line_no = r.line_no and d.delta > 0))
),
least as (
    select cluster, counter, utc_ns // 60000000000 as minute, min(value) as least_ns
    from reading
    group by all
),
candidate as (
    select distinct r.*
    from reading as r
    join threshold as l on l.name = 'slow_answer_s' and r.value >= l.value * 1e9
    join threshold as t on t.name = 'slow_answer_factor'
    join least as m on m.cluster = r.cluster and m.counter = r.counter
        and m.minute between r.utc_ns // 60000000000 - 1 and r.utc_ns // 60000000000 + 1
        and r.value >= t.value * m.least_ns
),
aged as (
    select c.file_id, c.line_no, c.counter, median(b.value) as usual_ns
    from candidate as c
    join reading as b on b.cluster = c.cluster and b.node_id = c.node_id and b.counter = c.counter
        and b.utc_ns < c.utc_ns and b.utc_ns >= c.utc_ns - 3600000000000
    group by all
    having count(*) >= 3
),
slow as (
    select a.cluster, a.node_id, a.counter, a.value, a.utc_ns, a.file_id, a.line_no,
        median(p.value) as peer_ns, any_value(u.usual_ns) as usual_ns
    from candidate as a
    join threshold as t on t.name = 'slow_answer_factor'
    join reading as p on p.cluster = a.cluster and p.node_id <> a.node_id and p.counter = a.counter
        and abs(p.utc_ns - a.utc_ns) <= 60000000000
    left join aged as u
        on u.file_id = a.file_id and u.line_no = a.line_no and u.counter = a.counter
    group by all
    having a.value >= any_value(t.value) * peer_ns
        and coalesce(a.value >= any_value(t.value) * any_value(u.usual_ns), true)
),
numbered as (
    select s.*, sum(case when s.is_new then 1 else 0 end) over (
        partition by s.cluster, s.node_id order by s.utc_ns, s.counter) as span_no
    from (
        select s.*, coalesce(s.utc_ns - lag(s.utc_ns) over (
            partition by s.cluster, s.node_id order by s.utc_ns, s.counter) > g.value * 1e9, true)
                as is_new
        from slow as s
        join threshold as g on g.name = 'fault_gap_s'
    ) as s
)
select
    cluster, node_id,
    min(utc_ns) - 10000000000 as started_ns,
    max(utc_ns) as ended_ns,
    count(*) as sign_count,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_max(counter, value) || ' was ' || round(max(value) / 1e6)::bigint::varchar || ' ms, '
        || round(arg_max(peer_ns, value) / 1e6, 1)::varchar || ' ms at its peers' as text
from numbered
group by cluster, node_id, span_no
having count(*) >= 2
