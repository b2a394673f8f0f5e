-- The clock of a job whose logs name no request, told by the first batch it asked AIStore for.
-- grain: one row a job for which exactly one offset fits
-- reads: worker_file, job_storage, batch_start, cluster_load, zone_choice, threshold
-- stored: yes
-- note: The xaction starts seconds to minutes after the job's first line. An offset of zero that
-- note: fits is taken; another one only if clocks somewhere go so, zero lies outside the logs at
-- note: hand, no second one fits and the cluster's logs lie beside the job's. Jobs that do not
-- note: speak of AIStore are left alone.
create or replace view clock_job_start as
with job_span as (
    select job_id, min(first_ns) as start_ns, max(last_ns) as end_ns
    from worker_file
    where kind = 'worker_log' and first_ns is not null and (not is_utc or zone is not null)
    group by job_id, zone is not null
    qualify row_number() over (partition by job_id order by zone is not null) = 1
),
step as (
    select value::bigint * 1000000000 as ns from threshold where name = 'zone_step_s'
),
fit as (
    select
        j.job_id,
        (round((j.start_ns - b.utc_ns) / t.ns) * t.ns)::bigint as offset_ns,
        b.utc_ns - (j.start_ns - round((j.start_ns - b.utc_ns) / t.ns) * t.ns) as lag_ns,
        b.text,
        b.line_no,
        b.cluster in (select s.cluster from job_storage as s where s.job_id = j.job_id) as is_beside
    from job_span as j
    cross join batch_start as b
    cross join step as t
    where j.job_id in (select s.job_id from job_storage as s where s.is_ais_user)
),
fitting as (
    select f.job_id, f.offset_ns, min(f.lag_ns) as lag_ns, min(f.line_no) as line_no,
        min(f.text) as text
    from fit as f
    where f.lag_ns
        between -5000000000
            and (select value * 1000000000 from threshold where name = 'job_start_lag_s')
        and abs(f.offset_ns)
            <= (select value * 1000000000 from threshold where name = 'zone_span_s')
        and (f.offset_ns = 0 or f.is_beside)
    group by f.job_id, f.offset_ns
),
overlap as (
    select j.job_id, bool_or(c.first_ns < j.end_ns and c.last_ns > j.start_ns) as is_covered
    from job_span as j
    cross join cluster_load as c
    group by j.job_id
)
select job_id, offset_ns, line_no, text
from (
    select f.*
    from fitting as f
    join overlap as o on o.job_id = f.job_id
    where f.offset_ns = 0 or not o.is_covered
    qualify row_number() over (partition by f.job_id order by abs(f.offset_ns), f.offset_ns) = 1
        and (f.offset_ns = 0 or count(*) over (partition by f.job_id) = 1)
)
where offset_ns in (select zone_ns from zone_choice where is_in_use)
