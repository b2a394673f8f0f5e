-- Statistics intervals of a target in which GetBatch failed, was throttled, or waited more than twice as long a batch as it usually does there (-p all=1 for every interval).
-- without rows: no interval was slow (-p all=1 shows every one), or no statistics line of a target is available
with work as (
    select cluster, node_id, previous_at, sampled_at,
        sum(delta) filter (where counter = 'getbatch.n') as batches,
        sum(delta) filter (where counter = 'err.getbatch.n') as failed,
        sum(delta) filter (where counter = 'getbatch.gfn.n') as read_from_neighbour,
        sum(delta) filter (where counter = 'getbatch.rxwait.ns') / 1e9 as waited_s,
        sum(delta) filter (where counter = 'getbatch.throttle.ns') / 1e9 as throttled_s
    from counter_delta
    where counter like '%getbatch%' and delta <> 0
    group by cluster, node_id, previous_at, sampled_at
),
usual as (
    select cluster, node_id, median(waited_s / batches) as waited_s
    from work
    where batches > 0
    group by cluster, node_id
)
select w.cluster, w.node_id, w.previous_at, w.sampled_at, w.batches, w.failed, w.read_from_neighbour,
    round(w.waited_s, 1) as waited_s, round(w.throttled_s, 1) as throttled_s, round(1000 * w.waited_s / nullif(w.batches, 0), 1) as waited_ms_per_batch, round(1000 * u.waited_s, 1) as usual_ms_per_batch
from work as w
left join usual as u on u.cluster = w.cluster and u.node_id = w.node_id
where $all is not null or w.failed > 0 or w.throttled_s > 0 or w.waited_s > 2 * u.waited_s * greatest(w.batches, 1)
order by w.sampled_at, w.node_id
