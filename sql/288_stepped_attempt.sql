-- A job attempt that reported a step, whether or not its progress lines have a time.
-- grain: one row such a job attempt
-- reads: progress_line, worker_file
-- stored: yes
create or replace view stepped_attempt as
select distinct f.job_id, f.path_attempt + coalesce(s.attempt_no, 0) as attempt
from progress_line as s
join worker_file as f on f.file_id = s.file_id
where s.step is not null
