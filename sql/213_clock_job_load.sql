-- The clock of a job told by the moment AIStore's targets stopped serving it: between its last step and its death.
-- grain: one row a job for which exactly one quarter-hour offset fits
-- reads: worker_file, worker_tail, job_storage, stats_line, counter_sample, clock_ais, ais_file, row_removal, threshold
-- stored: yes
-- empty without: counter_sample
-- note: getbatch.n where the cluster served batches, else get.n. The last interval in which it grew, with later statistics lines in which it did not, must lie between the job's last step and its end. An offset of zero that fits is taken; another one only if no second one fits and the cluster's logs lie beside the job's.
create or replace view clock_job_load as
with job as (
    select f.job_id, max(f.last_ns) as death_ns, coalesce(max(t.local_ns) filter (where t.step is not null), min(f.first_ns)) as step_ns
    from worker_file as f
    left join worker_tail as t on t.file_id = f.file_id and t.zone_offset_s is null
    where f.kind = 'worker_log' and (not f.is_utc or f.zone is not null) and f.last_ns is not null
    group by f.job_id, f.zone is not null
    qualify row_number() over (partition by f.job_id order by f.zone is not null) = 1
),
reading as (
    select
        f.cluster, l.file_id, l.process_no, l.line_no, l.local_ns - k.shift_ns as utc_ns,
        coalesce(max(c.value) filter (where c.name = 'getbatch.n'), 0) as batch_count,
        coalesce(max(c.value) filter (where c.name = 'get.n'), 0) as get_count
    from stats_line as l
    join ais_file as f on f.file_id = l.file_id and f.node_role = 'target'
    join clock_ais as k on k.file_id = l.file_id
    left join counter_sample as c on c.file_id = l.file_id and c.line_no = l.line_no and c.name in ('getbatch.n', 'get.n')
    where not exists (select 1 from row_removal as r where r.table_name = 'counter_sample' and r.file_id = l.file_id and l.local_ns >= r.low_ns and l.local_ns < r.high_ns)
    group by f.cluster, l.file_id, l.process_no, l.line_no, l.local_ns - k.shift_ns
),
chosen as (
    select *, case when max(batch_count) over (partition by cluster) > 0 then batch_count else get_count end as served_count
    from reading
),
interval as (
    select
        cluster, utc_ns,
        lag(utc_ns) over same as previous_ns,
        served_count > lag(served_count) over same as is_busy
    from chosen
    window same as (partition by file_id, process_no order by line_no)
),
stop as (
    select
        cluster,
        max(utc_ns) filter (where is_busy) as busy_to_ns,
        arg_max(previous_ns, utc_ns) filter (where is_busy) as busy_from_ns,
        max(utc_ns) as last_ns
    from interval
    group by cluster
    having max(utc_ns) > max(utc_ns) filter (where is_busy)
),
fit as (
    select distinct j.job_id, (q.step_no * s.value * 1000000000)::bigint as offset_ns, b.cluster is not null as is_beside
    from job as j
    join job_storage as u on u.job_id = j.job_id and u.is_ais_user
    cross join stop as p
    cross join (select unnest(range(-56, 57)) as step_no) as q
    join threshold as s on s.name = 'zone_step_s'
    left join job_storage as b on b.job_id = j.job_id and b.cluster = p.cluster
    where p.busy_from_ns <= j.death_ns - q.step_no * s.value * 1000000000 + 5000000000
        and p.busy_to_ns >= j.step_ns - q.step_no * s.value * 1000000000 - 5000000000
)
select
    job_id,
    offset_ns
from fit
where offset_ns = 0 or is_beside
qualify row_number() over (partition by job_id order by abs(offset_ns), offset_ns) = 1 and (offset_ns = 0 or count(*) over (partition by job_id) = 1)
