-- Ranks and node files that should be there and are not (-p failure=ID).
select 'rank' as what, rank::varchar as name, 'no line of it' as note
from rank_state
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1) and is_absent
union all
select 'worker log', file_name, path
from missing_worker_file
where failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by what, name
