-- A rank that stood in a batch request (x-get-batch) while AIStore's targets read entry after entry from a slow remote backend.
-- grain: one row a failure
-- reads: failure_lead, stack_process, stack_frame, counter_delta, cold_counter, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: stack_frame
-- note: One cold read of some seconds holds up nobody for long, but a batch waits for all its entries: dozens of such reads add up to a collective's time-out. The stack of the culprit must stand in AIStore's batch code, most targets' cold reads of that time must take crawl_s or longer on average, as long as clients waited for them (no prefetch), and at least one must have been under way at any moment of the hang on average. Others read cold too, so targets must have waited for entries of batches (getbatch.rxwait.ns, which is counted when a batch is done) for a considerable part of the hang; where a release prints no counters of batches, entries must have gone between targets (stream.in.n) in statistics intervals of the hang that reach over such a part: the ranks that wait ask for none.
create or replace view cold_batch as
with standing as (
    select f.failure_id, any_value(f.cluster) as cluster, any_value(f.hang_start_ns) as from_ns, any_value(f.spoke_ns) as until_ns
    from failure_lead as f
    join stack_process as p on p.job_id = f.job_id and p.attempt = f.attempt and p.rank = f.culprit_rank
    join stack_frame as s on s.file_id = p.file_id and s.dump_no = p.dump_no and s.pid = p.pid
    where f.is_cluster_sure and f.hang_start_ns is not null and f.spoke_ns > f.hang_start_ns and f.activity = 'storage_wait' and f.activity_witness = 'stack'
        and s.is_main and contains(s.text, 'aistore/sdk/batch/')
    group by f.failure_id
),
growth as (
    select
        w.failure_id, d.node_id, any_value(w.until_ns - w.from_ns) as hang_ns,
        coalesce(sum(d.delta) filter (where k.measure = 'n'), 0) as cold_count,
        coalesce(sum(d.delta) filter (where k.measure = 'ns'), 0) as cold_ns,
        coalesce(sum(d.delta) filter (where d.counter = 'get.ns.total'), 0) as served_ns,
        arg_max(d.file_id, (d.delta, d.file_id, d.line_no)) filter (where k.measure = 'ns') as file_id,
        arg_max(d.line_no, (d.delta, d.file_id, d.line_no)) filter (where k.measure = 'ns') as line_no,
        coalesce(sum(d.delta) filter (where d.counter = 'getbatch.rxwait.ns'), 0) as waited_ns,
        min(d.previous_ns) filter (where d.counter = 'stream.in.n' and d.delta > 0 and d.previous_ns >= w.from_ns) as entry_from_ns,
        max(least(d.utc_ns, w.until_ns)) filter (where d.counter = 'stream.in.n' and d.delta > 0 and d.previous_ns >= w.from_ns) as entry_to_ns,
        any_value(exists (from counter_delta as b where b.cluster = w.cluster and b.node_role = 'target' and b.counter = 'getbatch.n')) as is_counted
    from standing as w
    join counter_delta as d on d.cluster = w.cluster and d.node_role = 'target' and d.utc_ns > w.from_ns and d.previous_ns < w.until_ns
    left join cold_counter as k on k.counter = d.counter
    where d.counter in ('get.ns.total', 'getbatch.rxwait.ns', 'stream.in.n') or k.counter is not null
    group by w.failure_id, d.node_id
)
select
    g.failure_id,
    count(*) filter (where g.cold_count > 0) as target_count,
    sum(g.cold_count)::bigint as read_count,
    round(sum(g.cold_ns) / sum(g.cold_count) / 1e9, 1) as mean_s,
    arg_max(g.file_id, (g.cold_ns, g.node_id)) as file_id,
    arg_max(g.line_no, (g.cold_ns, g.node_id)) as line_no
from growth as g
join threshold as c on c.name = 'crawl_s'
join threshold as s on s.name = 'batch_wait_share'
group by g.failure_id, c.value, s.value
having sum(g.cold_count) >= 10 and sum(g.cold_ns) >= c.value * 1e9 * sum(g.cold_count) and sum(g.served_ns) >= 0.9 * sum(g.cold_ns)
    and count(*) filter (where g.cold_ns >= c.value * 1e9 * g.cold_count and g.cold_count > 0) * 2 > count(*) filter (where g.cold_count > 0)
    and sum(g.cold_ns) >= any_value(g.hang_ns)
    and coalesce(case when bool_or(g.is_counted) then sum(g.waited_ns) else max(g.entry_to_ns) - min(g.entry_from_ns) end, 0) >= s.value * any_value(g.hang_ns)
