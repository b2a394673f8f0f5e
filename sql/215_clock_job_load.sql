-- The clock of a job told by the moment AIStore's targets stopped serving it: between its last step
-- and its death.
-- grain: one row a job for which exactly one offset fits
-- reads: worker_file, worker_tail, job_storage, cluster_load, zone_choice
-- stored: yes
-- note: The last interval in which the cluster served must lie between the job's last step and its
-- note: end. An offset of zero that fits is taken; another one only if clocks somewhere go so, no
-- note: second one fits and the cluster's logs lie beside the job's.
create or replace view clock_job_load as
with job as (
    select f.job_id, max(f.last_ns) as death_ns,
        coalesce(max(t.local_ns) filter (where t.step is not null), min(f.first_ns)) as step_ns
    from worker_file as f
    left join worker_tail as t on t.file_id = f.file_id and t.zone_offset_s is null
    where f.kind = 'worker_log' and (not f.is_utc or f.zone is not null) and f.last_ns is not null
    group by f.job_id, f.zone is not null
    qualify row_number() over (partition by f.job_id order by f.zone is not null) = 1
),
fit as (
    select distinct j.job_id, z.zone_ns as offset_ns, z.is_in_use,
        b.cluster is not null as is_beside
    from job as j
    join job_storage as u on u.job_id = j.job_id and u.is_ais_user
    join cluster_load as p on p.busy_to_ns is not null
    join zone_choice as z on z.is_from_utc
    left join job_storage as b on b.job_id = j.job_id and b.cluster = p.cluster
    where p.busy_from_ns <= j.death_ns - z.zone_ns + 5000000000
        and p.busy_to_ns >= j.step_ns - z.zone_ns - 5000000000
)
select job_id, offset_ns
from (
    select *
    from fit
    where offset_ns = 0 or is_beside
    qualify row_number() over (partition by job_id order by abs(offset_ns), offset_ns) = 1
        and (offset_ns = 0 or count(*) over (partition by job_id) = 1)
)
where is_in_use
