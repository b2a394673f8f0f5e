-- How many failures of a time storage is guilty of, what they cost, and how long storage had failed before ranks hung (-p since=2026-09-01 -p until=2026-10-01).
-- without rows: no failure is known in that time
with failed as (
    select f.failure_id, f.storage_verdict, i.ranks * i.lost_s / 3600 as lost_rank_hours, o.until_hang_s
    from failure as f
    join failure_facet as x on x.failure_id = f.failure_id and x.facet = 'verdict'
    left join impact as i on i.failure_id = f.failure_id
    left join failure_onset as o on o.failure_id = f.failure_id
    where ($since is null or x.failed_at >= $since::timestamp)
        and ($until is null or x.failed_at < $until::timestamp)
)
select
    count(*)::integer as failure_count,
    (count(*) filter (where storage_verdict = 'guilty'))::integer as guilty_count,
    (count(*) filter (where storage_verdict = 'innocent'))::integer as innocent_count,
    (count(*) filter (where storage_verdict = 'undetermined'))::integer as undetermined_count,
    count(*) filter (where storage_verdict = 'guilty') / nullif(count(*), 0) as guilty_ratio,
    count(*) filter (where storage_verdict = 'guilty') / nullif(count(*) filter (where storage_verdict <> 'undetermined'), 0) as guilty_of_determined_ratio,
    coalesce(sum(lost_rank_hours), 0)::double as lost_rank_hours,
    coalesce(sum(lost_rank_hours) filter (where storage_verdict = 'guilty'), 0)::double as guilty_lost_rank_hours,
    avg(until_hang_s) as mean_until_hang_s,
    median(until_hang_s) as median_until_hang_s,
    count(until_hang_s)::integer as timed_count
from failed
having count(*) > 0
