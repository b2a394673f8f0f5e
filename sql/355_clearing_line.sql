-- A line by which a failed attempt itself clears its storage: bytes had come whole, an object is stored empty, no address was set, or no connection is open.
-- grain: one row a failure, rank and sign (rank null: it holds for the whole job)
-- reads: failure_case, worker_event, rank_crash, stack_process, threshold
-- case: yes
-- note: came_whole: the rank counted as many bytes as had been announced (answer_whole), within felt_after_s before its error; the last such line. stored_empty: the rank found an object empty that its store gave without an error (object_empty), likewise. address_not_set: the program found none in its environment (endpoint_not_set); the first such line of any rank. no_socket: a watcher found no open connection of a process whose stack is that of the rank or of its loader; the last such line, unless it is one of several loaders.
create or replace view clearing_line as
select f.failure_id, w.rank, 'came_whole' as sign, w.file_id, w.line_no
from failure_case as f
join rank_crash as r on r.job_id = f.job_id and r.attempt = f.attempt
join threshold as p on p.name = 'felt_after_s'
join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = r.rank
    and w.pattern = 'answer_whole' and w.utc_ns between r.utc_ns - p.value * 1e9 and r.latest_ns
where json_extract_string(w.capture, '$.came_bytes') = json_extract_string(w.capture, '$.announced_bytes')
qualify row_number() over (partition by f.failure_id, w.rank order by w.utc_ns desc, w.file_id, w.line_no) = 1
union all
select f.failure_id, w.rank, 'stored_empty' as sign, w.file_id, w.line_no
from failure_case as f
join rank_crash as r on r.job_id = f.job_id and r.attempt = f.attempt and r.pattern in ('lhotse_mossout_bck', 'lhotse_empty_content', 'lhotse_fallback_failed')
join threshold as p on p.name = 'felt_after_s'
join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = r.rank
    and w.pattern = 'object_empty' and w.utc_ns between r.utc_ns - p.value * 1e9 and r.latest_ns
qualify row_number() over (partition by f.failure_id, w.rank order by w.utc_ns desc, w.file_id, w.line_no) = 1
union all
select f.failure_id, null, 'address_not_set', w.file_id, w.line_no
from failure_case as f
join worker_event as w on w.job_id = f.job_id and w.pattern = 'endpoint_not_set'
qualify row_number() over (partition by f.failure_id order by w.utc_ns, w.file_id, w.line_no) = 1
union all
select f.failure_id, p.rank, 'no_socket', w.file_id, w.line_no
from failure_case as f
join stack_process as p on p.job_id = f.job_id and p.rank is not null and p.kind in ('trainer', 'worker', 'helper')
join worker_event as w on w.job_id = f.job_id and w.pattern = 'no_open_socket' and w.pid = p.pid
where not exists (
    select 1 from stack_process as o
    where o.job_id = p.job_id and o.rank = p.rank and o.kind in ('worker', 'helper') and o.pid <> p.pid
)
qualify row_number() over (partition by f.failure_id, p.rank order by w.utc_ns desc, w.file_id, w.line_no) = 1
