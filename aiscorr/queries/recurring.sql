-- Trouble that came back: the same node with the same kind of beginning, several times (-p since=2026-09-01 -p until=2026-10-01 -p node=ID).
-- without rows: no node had the same kind of trouble twice, in chains of broken batches or before failures
select
    b.cluster,
    b.node_id,
    b.beginning,
    count(*)::integer as times,
    sum(b.chain_count)::integer as chain_count,
    sum(b.broken_request_count)::integer as broken_request_count,
    list_distinct(flatten(list(b.failure_ids))).len()::integer as failure_count,
    list_sort(list_distinct(flatten(list(b.failure_ids)))) as failure_ids,
    min(b.begun_at) as first_at,
    max(b.begun_at) as last_at
from failure_beginning as b
where ($since is null or b.begun_at >= $since::timestamp)
    and ($until is null or b.begun_at < $until::timestamp)
    and ($node is null or b.node_id = $node)
group by b.cluster, b.node_id, b.beginning
having count(*) > 1
order by failure_count desc, times desc, last_at desc, b.node_id, b.beginning
