-- The zone of a cluster none of whose logs tells it, told by a job beside it: its zone where the
-- job's clock is known, else how far it is ahead of the job's clock.
-- grain: one row a cluster for which exactly one zone fits
-- reads: clock_ais, ais_file, ais_line, clock_worker, clock_job_name, worker_file, worker_line,
-- reads: worker_tail, job_storage, cluster_load, threshold, zone_choice
-- stored: yes
-- note: In the zone the logs cover the job from its first line to its last step; as they stand they
-- note: lie wholly beside its time, but where both name several objects in the same second.
create or replace view clock_cluster as
with lone as (
    select f.cluster from clock_ais as k join ais_file as f on f.file_id = k.file_id
    group by f.cluster having max(k.confidence) <= 0.7
),
known as (
    select w.job_id, max(k.zone_offset_s) as zone_s, bool_and(k.method <> 'assumed') as is_known
    from worker_file as w join clock_worker as k on k.file_id = w.file_id
    where w.kind = 'worker_log'
    group by w.job_id
    having (bool_and(k.method in ('utc_marker', 'given')) or bool_and(k.method = 'assumed'))
        and min(k.zone_offset_s) = max(k.zone_offset_s)
),
line as (
    select w.job_id, l.file_id, l.line_no, l.stamp_source,
        l.local_ns - case when l.zone_offset_s is null then k.shift_ns else 0 end as utc_ns, l.step,
        l.short_count
    from (
        select file_id, line_no, local_ns, zone_offset_s, stamp_source, null as step,
            case when received_count < expected_count then received_count end as short_count
            from worker_line
        union all
        select file_id, line_no, local_ns, zone_offset_s, 'own', step, null from worker_tail
    ) as l
    join worker_file as w on w.file_id = l.file_id
    join clock_worker as k on k.file_id = l.file_id
),
job as (
    select n.job_id, n.zone_s, n.is_known, min(l.utc_ns) as start_ns, max(l.utc_ns) as end_ns,
        coalesce(max(l.utc_ns) filter (where l.step is not null), min(l.utc_ns)) as step_ns
    from known as n join line as l on l.job_id = n.job_id group by n.job_id, n.zone_s, n.is_known
),
short as (
    select l.job_id, l.short_count, l.utc_ns as low_ns,
        case when l.stamp_source in ('own', 'wrapper') then l.utc_ns
            else coalesce(t.utc_ns, j.end_ns) end
            as high_ns
    from line as l
    join job as j on j.job_id = l.job_id
        and (l.stamp_source in ('own', 'wrapper') or (l.stamp_source = 'before' and not j.is_known))
    asof
        left join (select file_id, line_no, utc_ns from line where stamp_source = 'own') as t
            on t.file_id = l.file_id
            and t.line_no > l.line_no
    where l.short_count is not null
),
shorted as (
    select distinct f.cluster, s.job_id, z.zone_s from short as s
    join ais_line as a on a.received_count = s.short_count and a.wid is not null
    join ais_file as f on f.file_id = a.file_id and f.cluster in (select cluster from lone)
    join clock_ais as k on k.file_id = a.file_id
    join threshold as t on t.name = 'same_cause_s'
    join zone_choice as z
        on a.local_ns - k.shift_ns - z.zone_ns between s.low_ns - t.value * 1000000000 and s.high_ns
            + t.value * 1000000000
),
fit as (
    select
        c.cluster, j.job_id, j.is_known, z.zone_s, z.is_in_use or not j.is_known as is_possible,
        coalesce(n.name_count, 0) as name_count,
        j.is_known and z.zone_s = j.zone_s as is_of_hosts,
        coalesce(len(list_filter(c.batches, lambda b: b.utc_ns - z.zone_ns - j.start_ns
            between -5000000000 and t.value * 1000000000)) > 0, false)
            as is_started,
        coalesce(c.busy_from_ns - z.zone_ns <= j.end_ns + 5000000000
            and c.busy_to_ns - z.zone_ns >= j.step_ns - 5000000000, false)
            as is_stopped,
        s.cluster is not null as is_shorted
    from cluster_load as c
    join lone as o on o.cluster = c.cluster
    join job_storage as u on u.cluster = c.cluster and u.is_ais_user
    join job as j on j.job_id = u.job_id
    join zone_choice as z on z.is_from_utc or not j.is_known
    join threshold as t on t.name = 'job_start_lag_s'
    left join shorted as s on s.cluster = c.cluster and s.job_id = j.job_id and s.zone_s = z.zone_s
    left join clock_job_name as n on n.cluster = c.cluster and n.job_id = j.job_id
        and n.is_known = j.is_known and n.offset_ns = z.zone_ns
    where c.first_ns - z.zone_ns <= j.start_ns and c.last_ns - z.zone_ns >= j.step_ns
        and (n.name_count > 1 or (
            (c.first_ns > j.end_ns or c.last_ns < j.start_ns)
            and not exists (select 1 from cluster_load as e
                join job_storage as v on v.cluster = e.cluster and v.job_id = j.job_id
                where e.first_ns <= j.start_ns and e.last_ns >= j.step_ns)
        ))
)
select
    cluster, zone_s,
    least(0.55 + 0.1 * max(sign_count), 0.9) - case when bool_or(is_known) then 0 else 0.1 end
        as confidence,
    'told by job ' || min(job_id)
        || case when bool_or(is_known) then '' else ' (its zone is unknown)' end || ': '
        || array_to_string(list_filter([
        case when bool_or(is_of_hosts) then 'zone of its hosts' end,
        case when bool_or(is_started) then 'its first batch' end,
        case when bool_or(is_stopped) then 'end of its load' end,
        case when bool_or(is_shorted) then 'a broken batch' end,
        case when max(name_count) > 1 then max(name_count)::varchar || ' names in the same second'
            when max(name_count) = 1 then 'a name in the same second' end
    ], lambda t: t is not null), ', ') as text
from (select *,
    is_of_hosts::integer + is_started::integer + is_stopped::integer + is_shorted::integer
        + least(name_count, 2) as sign_count
    from fit)
where sign_count >= case when is_known then 2 else 3 end
group by cluster, zone_s
qualify count(*) over (partition by cluster) = 1 and bool_and(is_possible)
