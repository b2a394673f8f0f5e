-- The first NaN or Inf of each rank.
select job_id, attempt, rank, event_at, step, message, line_no
from first_not_finite
order by event_at, rank
