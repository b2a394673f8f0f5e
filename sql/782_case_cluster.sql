-- An AIStore cluster that a judged job may have used.
-- grain: one row a job and cluster
-- reads: case_scope, ais_file, node_coverage, ais_event, worker_event, node_endpoint, job_storage,
-- reads: worker_file, stack_frame, threshold
-- stored: yes
-- note: A cluster that a line of the job names, by a request, or by a node or an address with logs
-- note: within a margin of the job's time, or one whose logs of that time lie near the job's own.
-- note: Where none is, or variables in stacks may name another, every cluster of that time; else
-- note: every one: logs of another time are worth a word.
create or replace view case_cluster as
with near_in_time as (
    select distinct s.job_id, c.cluster
    from case_scope as s
    join threshold as p on p.name = 'case_margin_s'
    join node_coverage as c
        on c.started_ns <= s.until_ns + p.value * 1e9 and c.ended_ns >= s.since_ns - p.value * 1e9
),
told as (
    select s.job_id, e.cluster
    from case_scope as s
    join worker_event as w on w.job_id = s.job_id
    join ais_event as e on e.wid = w.wid
    union
    select n.job_id, n.cluster
    from near_in_time as n
    join worker_event as w on w.job_id = n.job_id
    join ais_file as f on f.node_id = w.node_id and f.cluster = n.cluster
    union
    select n.job_id, n.cluster
    from near_in_time as n
    join worker_event as w on w.job_id = n.job_id
    join node_endpoint as e on e.endpoint = w.endpoint and e.cluster = n.cluster
    union
    select n.job_id, n.cluster
    from near_in_time as n
    join job_storage as b on b.job_id = n.job_id and b.cluster = n.cluster
),
with_variables as (
    select distinct f.job_id
    from worker_file as f
    semi join stack_frame as s on s.file_id = f.file_id and s.locals is not null
)
select job_id, cluster
from told
union
select job_id, cluster
from near_in_time
where job_id not in (select job_id from told) or job_id in (select job_id from with_variables)
union
select s.job_id, f.cluster
from case_scope as s
cross join ais_file as f
where s.job_id not in (select job_id from near_in_time union select job_id from told)
