-- The lines for and against each hypothesis (-p failure=ID).
select place, kind, why, event_at, path, line_no, text
from evidence
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by place, kind desc, event_at
