-- The zone of a cluster none of whose logs tells it, told by a job beside it whose clock is known.
-- grain: one row a cluster for which exactly one zone fits
-- reads: clock_ais, ais_file, ais_line, clock_worker, worker_file, worker_line, worker_tail, job_storage, cluster_load, batch_start, threshold, zone_choice
-- stored: yes
-- empty without: cluster_load
-- empty without: job_storage
-- note: Only where the logs as they stand lie wholly beside the job's time, and in the zone cover it from its first line to its last step. Two signs must agree on the zone: the job's hosts are in it, the first batch of an xaction comes within minutes after the job's first line, the targets stop serving between its last step and its end, a batch breaks off with as many entries as a rank then says it got (same_cause_s). Worked example: a job ran from 17:41 to 17:45 UTC on hosts at UTC+5:30; logs from 22:54 to 23:16 with a first batch at 23:12:02 are at UTC+5:30 too. Logs of another hour would need both by chance; where another cluster beside the job covers its time, that one is the job's.
create or replace view clock_cluster as
with lone as (
    select f.cluster
    from clock_ais as k
    join ais_file as f on f.file_id = k.file_id
    group by f.cluster
    having max(k.confidence) <= 0.7
),
known as (
    select w.job_id, max(k.zone_offset_s) as zone_s
    from worker_file as w
    join clock_worker as k on k.file_id = w.file_id
    where w.kind = 'worker_log'
    group by w.job_id
    having bool_and(k.method in ('utc_marker', 'given')) and min(k.zone_offset_s) = max(k.zone_offset_s)
),
line as (
    select w.job_id, l.local_ns - case when l.zone_offset_s is null then k.shift_ns else 0 end as utc_ns, l.step, l.short_count
    from (
        select file_id, local_ns, zone_offset_s, null as step, case when received_count < expected_count and stamp_source in ('own', 'wrapper') then received_count end as short_count from worker_line
        union all
        select file_id, local_ns, zone_offset_s, step, null from worker_tail
    ) as l
    join worker_file as w on w.file_id = l.file_id
    join clock_worker as k on k.file_id = l.file_id
),
job as (
    select n.job_id, n.zone_s, min(l.utc_ns) as start_ns, max(l.utc_ns) as end_ns, coalesce(max(l.utc_ns) filter (where l.step is not null), min(l.utc_ns)) as step_ns
    from known as n
    join line as l on l.job_id = n.job_id
    group by n.job_id, n.zone_s
),
broken as (
    select f.cluster, a.received_count, a.local_ns - k.shift_ns as utc_ns
    from ais_line as a
    join ais_file as f on f.file_id = a.file_id
    join clock_ais as k on k.file_id = a.file_id
    where a.received_count is not null and a.wid is not null and f.cluster in (select cluster from lone)
),
shorted as (
    select distinct b.cluster, l.job_id, (round((b.utc_ns - l.utc_ns) / 1e9 / q.value) * q.value)::bigint as zone_s
    from broken as b
    join line as l on l.short_count = b.received_count
    join threshold as q on q.name = 'zone_step_s'
    join threshold as t on t.name = 'same_cause_s'
    where abs((b.utc_ns - l.utc_ns) / 1e9 - round((b.utc_ns - l.utc_ns) / 1e9 / q.value) * q.value) <= t.value
),
fit as (
    select
        c.cluster, j.job_id, z.zone_s,
        z.zone_s = j.zone_s as is_of_hosts,
        exists (select 1 from batch_start as b where b.cluster = c.cluster and b.utc_ns - z.zone_ns - j.start_ns between -5000000000 and t.value * 1000000000) as is_started,
        coalesce(c.busy_from_ns - z.zone_ns <= j.end_ns + 5000000000 and c.busy_to_ns - z.zone_ns >= j.step_ns - 5000000000, false) as is_stopped,
        s.cluster is not null as is_shorted
    from cluster_load as c
    join lone as o on o.cluster = c.cluster
    join job_storage as u on u.cluster = c.cluster and u.is_ais_user
    join job as j on j.job_id = u.job_id and (c.first_ns > j.end_ns or c.last_ns < j.start_ns)
    cross join zone_choice as z
    join threshold as t on t.name = 'job_start_lag_s'
    left join shorted as s on s.cluster = c.cluster and s.job_id = j.job_id and s.zone_s = z.zone_s
    where not exists (select 1 from cluster_load as e join job_storage as v on v.cluster = e.cluster and v.job_id = j.job_id where e.first_ns <= j.start_ns and e.last_ns >= j.step_ns)
        and c.first_ns - z.zone_ns <= j.start_ns and c.last_ns - z.zone_ns >= j.step_ns
)
select
    cluster, zone_s, min(job_id) as job_id,
    'the logs fit job ' || min(job_id) || ' in this zone alone' as text
from fit
where is_of_hosts::integer + is_started::integer + is_stopped::integer + is_shorted::integer >= 2
group by cluster, zone_s
qualify count(*) over (partition by cluster) = 1 and zone_s in (select zone_s from zone_choice where is_in_use)
