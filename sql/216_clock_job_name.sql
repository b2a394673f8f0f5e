-- By how much an AIStore cluster's clock runs ahead of a job's, told by requests and objects that
-- both name in the same second.
-- grain: one row a job and cluster for which exactly one offset fits
-- reads: worker_file, worker_line, ais_file, ais_line, clock_absolute, clock_ais, threshold
-- stored: yes
-- note: A target's error about an object and the rank's error about it are seconds apart at most
-- note: (same_cause_s), so that the difference of their stamps is a whole number of quarter hours
-- note: but for that.
create or replace view clock_job_name as
with span as (
    select
        max(value) filter (where name = 'zone_step_s')::bigint * 1000000000 as step_ns,
        max(value) filter (where name = 'same_cause_s')::bigint * 1000000000 as slack_ns,
        max(value) filter (where name = 'chain_gap_s')::bigint * 1000000000 as gap_ns,
        max(value) filter (where name = 'zone_span_s')::bigint * 2000000000 as limit_ns
    from threshold
),
told as (
    select file_id, arg_max(offset_ns, (kind <> 'utm', vote_count, kind)) as offset_ns
    from clock_absolute
    where kind <> 'utm_between'
    group by file_id
),
client as (
    select
        f.job_id,
        f.is_utc or f.zone is not null or w.zone_offset_s is not null
            or t.file_id is not null as is_known,
        coalesce(w.wid, w.object) as name,
        w.bucket,
        w.local_ns
            - case when w.zone_offset_s is null and f.zone is null then coalesce(t.offset_ns, 0)
                else 0 end
            as moment_ns
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id and f.kind = 'worker_log'
    left join told as t on t.file_id = w.file_id
    where w.stamp_source in ('own', 'wrapper') and (w.wid is not null or length(w.object) >= 4)
),
server as (
    select f.cluster, coalesce(a.wid, a.object) as name, a.bucket,
        a.local_ns - k.shift_ns as moment_ns
    from ais_line as a
    join ais_file as f on f.file_id = a.file_id
    join clock_ais as k on k.file_id = a.file_id
    where a.wid is not null or length(a.object) >= 4
),
once as (
    select c.job_id, c.is_known, s.cluster, c.name
    from (select job_id, is_known, name, max(moment_ns) - min(moment_ns) as spread_ns from client
        group by job_id, is_known, name)
        as c
    join (select cluster, name, max(moment_ns) - min(moment_ns) as spread_ns from server
        group by cluster, name)
        as s
        on s.name = c.name
    cross join span as p
    where c.spread_ns <= p.gap_ns and s.spread_ns <= p.gap_ns
),
pair as (
    select
        o.job_id, o.is_known, o.cluster, o.name,
        s.moment_ns - c.moment_ns as apart_ns,
        (round((s.moment_ns - c.moment_ns) / p.step_ns) * p.step_ns)::bigint as offset_ns
    from once as o
    join client as c on c.job_id = o.job_id and c.is_known = o.is_known and c.name = o.name
    join server as s on s.cluster = o.cluster and s.name = o.name
        and coalesce(
            case
                when starts_with(c.bucket, 's3://')
                    then regexp_extract(c.bucket, '://(.*)', 1)
                        = regexp_extract(s.bucket, '://(.*)', 1)
                else c.bucket = s.bucket end,
            true)
    cross join span as p
)
select
    f.job_id, f.cluster, f.is_known, f.offset_ns,
    count(distinct f.name) as name_count
from pair as f
join (select job_id, is_known, cluster, count(*) as once_count from once
    group by job_id, is_known, cluster)
    as n
    on n.job_id = f.job_id
    and n.is_known = f.is_known and n.cluster = f.cluster
cross join span as p
where abs(f.apart_ns - f.offset_ns) <= p.slack_ns and abs(f.offset_ns) <= p.limit_ns
group by f.job_id, f.cluster, f.is_known, f.offset_ns, n.once_count
qualify count(*) over (partition by f.job_id, f.cluster, f.is_known) = 1
    and count(distinct f.name) * 2 > n.once_count
