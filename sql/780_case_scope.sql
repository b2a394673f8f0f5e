-- A job of which an attempt failed, or of which stacks were taken: the unit that is judged, with
-- the time that its lines span.
-- grain: one row a job
-- reads: failed_attempt, job_span, stack_stand, threshold
-- stored: yes
-- note: counters_since_ns: the values of counters before it are of no use; there are too many of
-- note: them to take all of a long job.
create or replace view case_scope as
with failed as (
    select
        job_id,
        min(coalesce(first_stamped_ns, last_sign_ns, stood_ns, ended_ns)) as first_sign_ns
    from failed_attempt
    group by job_id
)
select
    j.job_id,
    min(j.started_ns) as since_ns,
    max(greatest(j.ended_ns, coalesce(j.log_ended_ns, j.ended_ns))) as until_ns,
    (coalesce(any_value(f.first_sign_ns), until_ns) - any_value(p.value) * 1e9)::bigint
        as counters_since_ns,
    (until_ns + any_value(p.value) * 1e9)::bigint as counters_until_ns
from job_span as j
left join failed as f on f.job_id = j.job_id
join threshold as p on p.name = 'counter_margin_s'
where j.job_id in (select job_id from failed_attempt union select job_id from stack_stand)
group by j.job_id
