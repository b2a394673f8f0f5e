-- A job of which an attempt failed, or of which stacks were taken: the unit that is judged, with
-- the time that its lines span.
-- grain: one row a job
-- reads: failed_attempt, job_span, stack_stand
-- stored: yes
create or replace view case_scope as
select
    job_id,
    min(started_ns) as since_ns,
    max(greatest(ended_ns, coalesce(log_ended_ns, ended_ns))) as until_ns
from job_span
where job_id in (select job_id from failed_attempt union select job_id from stack_stand)
group by job_id
