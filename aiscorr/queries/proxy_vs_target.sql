-- Where errors grew: proxies, targets or both, and at which node most (-p failure=ID).
select counter, side, proxy_before, proxy_inside, target_before, target_inside, top_node_id, top_share_ratio, top_error_ratio
from failure_error_side
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by coalesce(target_inside, 0) + coalesce(proxy_inside, 0) desc, counter
