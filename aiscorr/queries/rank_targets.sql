-- What each rank met at which AIStore node, beside the others (-p failure=ID).
select rank, node_id, request_count, error_count, retry_count, longest_wait_s, other_rank_count, is_only_rank, first_at, last_at
from rank_target
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by error_count desc, rank, node_id
