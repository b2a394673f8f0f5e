-- Failures of a time by class, node, mountpath, bucket, host and job, with what is said of storage (-p since=2026-09-01 -p until=2026-10-01 -p facet=node).
-- without rows: no failure is known in that time
select
    x.facet,
    x.value,
    count(*)::integer as failure_count,
    (count(*) filter (where f.storage_verdict = 'guilty'))::integer as guilty_count,
    (count(*) filter (where f.storage_verdict = 'innocent'))::integer as innocent_count,
    (count(*) filter (where f.storage_verdict = 'undetermined'))::integer as undetermined_count,
    coalesce(sum(i.ranks * i.lost_s), 0) / 3600 as lost_rank_hours,
    max(x.failed_at) as last_at,
    arg_max(x.failure_id, x.failed_at) as last_failure_id
from failure_facet as x
join failure as f on f.failure_id = x.failure_id
left join impact as i on i.failure_id = x.failure_id
where x.facet in ('class', 'node', 'mountpath', 'bucket', 'host', 'job')
    and ($facet is null or x.facet = $facet)
    and ($since is null or x.failed_at >= $since::timestamp)
    and ($until is null or x.failed_at < $until::timestamp)
group by x.facet, x.value
order by list_position(['class', 'node', 'mountpath', 'bucket', 'host', 'job'], x.facet), failure_count desc, guilty_count desc, last_at desc, x.value
