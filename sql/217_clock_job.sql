-- The clock of a job as a whole, told by names that AIStore says in the same second, else by the
-- first batch it asked for, else by the moment the targets stopped serving it.
-- grain: one row a job of which any of them tells
-- reads: worker_file, worker_tail, job_storage, cluster_load, clock_job_name, zone_choice
-- reads: threshold
-- stored: yes
-- note: offset_ns is what is to be subtracted. One name alone, which may be the same by chance,
-- note: tells nothing where the first batch tells another offset; names of two clusters must agree.
-- note: The first batch starts seconds to minutes after the job's first line; the last interval in
-- note: which the cluster served lies between the job's last step and its end. Of both, an offset
-- note: of zero that fits is taken; another one only if clocks somewhere go so, no second one fits
-- note: and the cluster's logs lie beside the job's, and by a batch only if zero lies outside the
-- note: logs at hand. Jobs that do not speak of AIStore are left alone.
create or replace view clock_job as
with job as (
    select
        f.job_id, min(f.first_ns) as start_ns, max(f.last_ns) as end_ns,
        coalesce(max(t.local_ns), min(f.first_ns)) as step_ns
    from worker_file as f
    left join worker_tail as t on t.file_id = f.file_id and t.zone_offset_s is null
        and t.step is not null
    where f.kind = 'worker_log' and (not f.is_utc or f.zone is not null) and f.first_ns is not null
        and f.job_id in (select s.job_id from job_storage as s where s.is_ais_user)
    group by f.job_id, f.zone is not null
    qualify row_number() over (partition by f.job_id order by f.zone is not null) = 1
),
pair as (
    select
        j.*, c.* exclude (cluster), b.cluster is not null as is_beside,
        bool_or(c.first_ns < j.end_ns and c.last_ns > j.start_ns)
            over (partition by j.job_id) as is_covered
    from job as j
    cross join cluster_load as c
    left join job_storage as b on b.job_id = j.job_id and b.cluster = c.cluster
),
batch as (
    select
        p.job_id, p.start_ns, p.is_beside and not p.is_covered as is_apart, p.batch,
        (round((p.start_ns - p.batch.utc_ns) / (s.value * 1e9)) * s.value * 1e9)::bigint
            as offset_ns
    from (select *, unnest(batches) as batch from pair) as p
    join threshold as s on s.name = 'zone_step_s'
),
fit as (
    select 2 as place, b.job_id, b.offset_ns, min(b.batch.text) as text
    from batch as b
    join threshold as g on g.name = 'job_start_lag_s'
    join threshold as z on z.name = 'zone_span_s'
    where b.batch.utc_ns + b.offset_ns - b.start_ns between -5000000000 and g.value * 1e9
        and abs(b.offset_ns) <= z.value * 1e9 and (b.offset_ns = 0 or b.is_apart)
    group by b.job_id, b.offset_ns
    union all
    select distinct 3, p.job_id, z.zone_ns,
        'the targets stopped serving it between its last step and its end'
    from pair as p
    join zone_choice as z on z.is_from_utc and (z.zone_ns = 0 or p.is_beside)
    where p.busy_from_ns <= p.end_ns - z.zone_ns + 5000000000
        and p.busy_to_ns >= p.step_ns - z.zone_ns - 5000000000
),
told as (
    select f.*
    from (
        from fit
        qualify row_number() over (partition by place, job_id order by abs(offset_ns), offset_ns)
            = 1 and (offset_ns = 0 or count(*) over (partition by place, job_id) = 1)
    ) as f
    join zone_choice as z on z.zone_ns = f.offset_ns and z.is_in_use
),
every as (
    select
        1 as place, n.job_id, min(-n.offset_ns) as offset_ns,
        case when max(n.name_count) > 1 then 0.9 else 0.8 end as confidence,
        case when max(n.name_count) > 1 then max(n.name_count)::varchar || ' names'
            else 'a name' end || ' that both say in the same second' as text
    from clock_job_name as n
    join zone_choice as z on z.zone_ns = -n.offset_ns and z.is_in_use
    left join told as t on t.job_id = n.job_id and t.place = 2
    where not n.is_known and (n.name_count > 1 or coalesce(t.offset_ns = -n.offset_ns, true))
    group by n.job_id
    having min(n.offset_ns) = max(n.offset_ns)
    union all
    select place, job_id, offset_ns,
        case when place = 3 then 0.65 when offset_ns = 0 then 0.8 else 0.7 end, text
    from told
)
select job_id, offset_ns, confidence, text
from every
qualify row_number() over (partition by job_id order by place) = 1
