-- A span in which a target took far longer to answer than it had before, and than its peers did
-- then.
-- grain: one row a target and span
-- reads: counter_reading, read_growth, threshold
-- stored: yes
-- note: Compared are the latencies of one kind that statistics lines print (means of ten seconds),
-- note: with the median of its peers within a minute and of the target's own in the hour before
-- note: it became late, since what is late is nobody's usual. Reads that waited for a remote
-- note: backend do not count. One line is chance: two within fault_gap_s, or two kinds of latency
-- note: in one line, are needed.
create or replace view slow_answer as
with answer as (
    select cluster, node_id, counter, value, utc_ns, file_id, line_no
    from counter_reading
    where node_role = 'target' and value > 0
        and counter in ('get.ns', 'put.ns', 'get.redir.ns', 'put.redir.ns')
),
late as (
    select a.cluster, a.counter
    from answer as a
    join threshold as l on l.name = 'slow_answer_s' and a.value >= l.value * 1e9
    group by all
),
reading as (
    select a.*, a.utc_ns // 60000000000 as minute
    from answer as a
    semi join late as l on l.cluster = a.cluster and l.counter = a.counter
    anti join read_growth as c on c.file_id = a.file_id and c.line_no = a.line_no
        and c.backend is not null and a.counter = 'get.ns'
),
least as (
    select cluster, counter, minute,
        min(min(value)) over (partition by cluster, counter order by minute
            range between 1 preceding and 1 following) as least_ns
    from reading
    group by cluster, counter, minute
),
high as (
    select r.*, t.value as factor
    from reading as r
    join threshold as l on l.name = 'slow_answer_s' and r.value >= l.value * 1e9
    join threshold as t on t.name = 'slow_answer_factor'
    join least as m on m.cluster = r.cluster and m.counter = r.counter and m.minute = r.minute
        and r.value >= t.value * m.least_ns
),
aged as (
    select file_id, line_no, counter, median(value) over hour_before as usual_ns,
        count(*) over hour_before as usual_count
    from reading as r
    semi join high as h
        on h.cluster = r.cluster and h.node_id = r.node_id and h.counter = r.counter
    window hour_before as (
        partition by cluster, node_id, counter order by utc_ns
        range between 3600000000000 preceding and 1 preceding)
),
begun as (
    select h.*, u.usual_ns, u.usual_count,
        coalesce(h.utc_ns - lag(h.utc_ns) over by_time > g.value * 1e9, true) as is_new
    from high as h
    join aged as u on u.file_id = h.file_id and u.line_no = h.line_no and u.counter = h.counter
    join threshold as g on g.name = 'fault_gap_s'
    window by_time as (partition by h.cluster, h.node_id, h.counter order by h.utc_ns)
),
held as (
    select *,
        arg_max(usual_ns, utc_ns) filter (where is_new) over (
            partition by cluster, node_id, counter order by utc_ns
            rows between unbounded preceding and current row) as usual_before_ns
    from begun
),
unusual as (
    select * exclude (usual_ns, usual_count, usual_before_ns, is_new),
        unnest([minute - 1, minute, minute + 1]) as near_minute
    from held
    where usual_count < 3 or value >= factor * coalesce(usual_before_ns, usual_ns)
),
slow as (
    select a.cluster, a.node_id, a.counter, a.value, a.utc_ns, a.file_id, a.line_no,
        median(p.value) as peer_ns
    from unusual as a
    join reading as p on p.cluster = a.cluster and p.counter = a.counter
        and p.minute = a.near_minute and p.node_id <> a.node_id
        and abs(p.utc_ns - a.utc_ns) <= 60000000000
    group by all
    having a.value >= any_value(a.factor) * peer_ns
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
    arg_max(file_id, (value, file_id, line_no)) as file_id,
    arg_max(line_no, (value, file_id, line_no)) as line_no,
    arg_max(counter, value) || ' was ' || round(max(value) / 1e6)::bigint::varchar || ' ms, '
        || round(arg_max(peer_ns, value) / 1e6, 1)::varchar || ' ms at its peers' as text
from numbered
group by cluster, node_id, span_no
having count(*) >= 2
