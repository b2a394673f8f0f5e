-- A log file that a case reads: one of the job's own, or one of a cluster that the job may have
-- used.
-- grain: one row a job and file
-- reads: case_scope, case_cluster, worker_file, ais_file
-- stored: yes
create or replace view case_file as
select s.job_id, f.file_id
from case_scope as s
join worker_file as f on f.job_id = s.job_id
union
select c.job_id, f.file_id
from case_cluster as c
join ais_file as f on f.cluster = c.cluster
