-- A file that the report of a failure is made of: the job's own, and AIStore's logs of its cluster
-- up to the end of the window.
-- grain: one row a failure and file
-- reads: failure, source_file
-- note: From a day before the window to a minute after it: what the cluster logs later does not
-- note: change the report.
create or replace view failure_file as
select
    f.failure_id,
    s.file_id,
    s.kind,
    s.job_id is not distinct from f.job_id as is_of_job,
    s.rejects
from failure as f
join source_file as s on s.state = 'ingested'
    and (s.job_id = f.job_id
        or (s.kind = 'ais_log' and s.cluster = f.cluster
            and s.first_at <= f.window_ended_at + interval 1 minute
            and s.last_at >= f.window_started_at - interval 1 day))
