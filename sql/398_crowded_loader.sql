-- Loaders of a job that share one core, as PyTorch warned when they began.
-- grain: one row a failure of such a job
-- reads: failure_lead, worker_event
-- stored: yes
-- empty without: failure_lead
-- empty without: worker_event where pattern = 'dataloader_worker_count'
-- note: Four loaders or more for which PyTorch suggests one (torch/utils/data counts the cores that the process may use): a launcher bound the process to a core. They may read and decode slowly or seem to freeze, whatever storage does; it acquits nobody by itself, since the job had trained so.
create or replace view crowded_loader as
select
    f.failure_id,
    max(json_extract_string(w.capture, '$.worker_count')::integer) as worker_count,
    arg_min(w.file_id, (w.file_id, w.line_no)) as file_id,
    arg_min(w.line_no, (w.file_id, w.line_no)) as line_no
from failure_lead as f
join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.pattern = 'dataloader_worker_count' and coalesce(w.rank = f.culprit_rank, true)
where json_extract_string(w.capture, '$.core_count')::integer = 1 and json_extract_string(w.capture, '$.worker_count')::integer >= 4
group by f.failure_id
