-- GetBatch work by target and statistics interval: batches, waiting, fallbacks, errors.
select cluster, node_id, previous_at, sampled_at,
    sum(delta) filter (where counter = 'getbatch.n') as batches,
    sum(delta) filter (where counter = 'err.getbatch.n') as failed,
    sum(delta) filter (where counter = 'getbatch.gfn.n') as read_from_neighbour,
    round(sum(delta) filter (where counter = 'getbatch.rxwait.ns') / 1e9, 1) as waited_s,
    round(sum(delta) filter (where counter = 'getbatch.throttle.ns') / 1e9, 1) as throttled_s
from counter_delta
where counter like '%getbatch%' and delta <> 0
group by cluster, node_id, previous_at, sampled_at
order by sampled_at, node_id
