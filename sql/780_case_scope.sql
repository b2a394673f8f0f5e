-- A job of which an attempt failed: the unit that is judged, with the time that its lines span.
-- grain: one row a job
-- reads: failed_attempt, job_span
-- stored: yes
create or replace view case_scope as
select
    j.job_id,
    min(j.started_ns) as since_ns,
    max(greatest(j.ended_ns, coalesce(j.log_ended_ns, j.ended_ns))) as until_ns
from job_span as j
where j.job_id in (select job_id from failed_attempt)
group by j.job_id
