-- Counters of every node before, inside and after the window (-p failure=ID, -p counter=NAME%, -p node=ID or ID,ID).
-- without rows: no statistics line of AIStore, or of that node, lies around the failure
select node_id, node_role, counter, before, inside, after, inside_per_s, ratio, is_complete, is_after_complete, meaning
from failure_counter_delta
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
    and (counter like $counter or $counter is null)
    and (list_contains(string_split($node, ','), node_id) or $node is null)
order by is_error desc, counter like '%.n' desc, counter like '%.size',
    sum(inside) over (partition by counter) desc, counter, inside desc, node_id
