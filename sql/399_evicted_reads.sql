-- Targets of AIStore that evicted objects during a hang and read nearly all that they served from the remote backend, while ranks called their reads slow.
-- grain: one row a failure
-- reads: failure_lead, slow_word, counter_delta, cold_counter, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: slow_word
-- note: A cache that is smaller than what an epoch reads loses what the next one wants (LRU), and every read of it waits for the cloud again. Statistics intervals that lie in the hang for the most part count; half of the targets that served reads then, or more, must have evicted as many objects as they read cold, with cold reads that took strained_read_s on average and were nine of ten of theirs. Both sides must say so: the ranks as well (slow_word).
create or replace view evicted_reads as
with growth as (
    select
        f.failure_id, d.node_id,
        coalesce(sum(d.delta) filter (where d.counter = 'get.n'), 0) as read_count,
        coalesce(sum(d.delta) filter (where k.measure = 'n'), 0) as cold_count,
        coalesce(sum(d.delta) filter (where k.measure = 'ns'), 0) as cold_ns,
        coalesce(sum(d.delta) filter (where d.counter = 'lru.evict.n'), 0) as evicted_count,
        arg_max(d.file_id, (d.delta, d.file_id, d.line_no)) filter (where d.counter = 'lru.evict.n') as file_id,
        arg_max(d.line_no, (d.delta, d.file_id, d.line_no)) filter (where d.counter = 'lru.evict.n') as line_no
    from failure_lead as f
    join slow_word as w on w.failure_id = f.failure_id
    join counter_delta as d on d.cluster = f.cluster and d.node_role = 'target' and d.utc_ns > f.hang_start_ns and d.previous_ns < f.spoke_ns
        and least(d.utc_ns, f.spoke_ns) - greatest(d.previous_ns, f.hang_start_ns) >= 0.5 * (d.utc_ns - d.previous_ns)
    left join cold_counter as k on k.counter = d.counter
    where f.is_cluster_sure and (d.counter in ('get.n', 'lru.evict.n') or k.counter is not null)
    group by f.failure_id, d.node_id
),
judged as (
    select g.*, g.cold_count >= 3 and g.evicted_count >= g.cold_count and g.cold_count >= 0.9 * g.read_count and g.cold_ns >= s.value * 1e9 * g.cold_count as is_thrashing
    from growth as g
    join threshold as s on s.name = 'strained_read_s'
)
select
    failure_id,
    count(*) filter (where is_thrashing) as target_count,
    count(*) filter (where read_count > 0) as served_count,
    (sum(cold_count) filter (where is_thrashing))::bigint as read_count,
    round(sum(cold_ns) filter (where is_thrashing) / sum(cold_count) filter (where is_thrashing) / 1e9, 1) as mean_s,
    arg_max(file_id, (evicted_count, node_id)) filter (where is_thrashing) as file_id,
    arg_max(line_no, (evicted_count, node_id)) filter (where is_thrashing) as line_no
from judged
group by failure_id
having count(*) filter (where is_thrashing) * 2 >= count(*) filter (where read_count > 0) and count(*) filter (where is_thrashing) > 0
