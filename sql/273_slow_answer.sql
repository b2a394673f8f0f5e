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
aged as (
    select
        *, median(value) over before as usual_ns, count(*) over before as before_count
    from reading
    window before as (
        partition by cluster, node_id, counter order by utc_ns, file_id, line_no
        rows between 360 preceding and 1 preceding)
),
slow as (
    select a.cluster, a.node_id, a.counter, a.value, a.utc_ns, a.file_id, a.line_no,
        median(p.value) as peer_ns,
        any_value(case when a.before_count >= 3 then a.usual_ns end) as usual_ns
    from aged as a
    join threshold as l on l.name = 'slow_answer_s' and a.value >= l.value * 1e9
    join threshold as t on t.name = 'slow_answer_factor'
    join reading as p on p.cluster = a.cluster and p.node_id <> a.node_id and p.counter = a.counter
        and abs(p.utc_ns - a.utc_ns) <= 60000000000
    group by all
    having a.value >= any_value(t.value) * peer_ns
        and coalesce(a.value >= any_value(t.value) * usual_ns, true)
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
