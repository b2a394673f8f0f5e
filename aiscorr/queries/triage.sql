-- Messages of the worker logs by tier, pattern, file and rank (-p job=ID).
select tier, pattern, title, severity, rank, line_count, top_retry, retry_limit, first_at, last_at, is_exact, path, line_no
from triage
where job_id = $job or $job is null
order by case role when 'cause' then 1 when 'retry' then 2 when 'symptom' then 3 else 4 end, first_at, pattern, rank
