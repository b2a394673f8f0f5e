-- An AIStore cluster that a judged job may have used.
-- grain: one row a job and cluster
-- reads: case_scope, ais_file, node_coverage, ais_event, worker_event, threshold
-- stored: yes
-- note: A cluster of the job's time, within a margin, or one that names a request of the job. Where
-- note: there is none it is every cluster, since the logs of another time are worth a word.
create or replace view case_cluster as
with near_in_time as (
    select s.job_id, c.cluster
    from case_scope as s
    join threshold as p on p.name = 'case_margin_s'
    join node_coverage as c
        on c.started_ns <= s.until_ns + p.value * 1e9 and c.ended_ns >= s.since_ns - p.value * 1e9
    union
    select s.job_id, e.cluster
    from case_scope as s
    join worker_event as w on w.job_id = s.job_id
    join ais_event as e on e.wid = w.wid
)
select job_id, cluster
from near_in_time
union
select s.job_id, f.cluster
from case_scope as s
cross join ais_file as f
where s.job_id not in (select job_id from near_in_time)
