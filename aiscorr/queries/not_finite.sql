-- The first NaN or Inf in a loss or gradient norm of each rank.
select job_id, attempt, rank, event_at, step, message, line_no
from worker_event
where pattern in ('training_not_finite', 'training_stopped_not_finite')
qualify row_number() over (partition by job_id, attempt, rank order by utc_ns, file_id, line_no) = 1
order by event_at, rank
