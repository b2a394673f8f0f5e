-- Every event of a failure in order (-p failure=ID).
select event_at, is_exact, source, node_id, rank, weight, text, path, line_no
from timeline
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by event_at, weight
