-- Every file: kind, lines, events, rejects, first and last time, problems.
select path, kind, kind_reason, node_id, job_id, lines, events, rejects, first_at, last_at, state, problem
from source_file
order by path
