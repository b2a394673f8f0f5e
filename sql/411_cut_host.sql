-- A host of a job that had lost its way to AIStore: all its ranks failed to connect to several nodes, and no rank of another host did to any.
-- grain: one row a failure
-- reads: failure_lead, rank_request, rank_host, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: rank_request where outcome in ('error', 'retry', 'chained') and endpoint is not null and regexp_matches(text || ' ' || coalesce(message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
-- note: Needs ranks of other hosts, two ranks of the host, and three addresses at least: one node that is gone, or one rank that fails, is no cut host. Which host a rank is of tells rank_host. A refused connection reached the other side.
create or replace view cut_host as
with unreached as (
    select f.failure_id, k.place, k.host, k.place_count, k.seen_count, r.rank, split_part(r.endpoint, ':', 1) as address, r.from_ns, r.file_id, r.line_no
    from failure_lead as f
    join threshold as p on p.name = 'stall_reach_s'
    join rank_request as r on r.failure_id = f.failure_id and r.outcome in ('error', 'retry', 'chained') and r.endpoint is not null
        and r.from_ns between f.stall_ns - p.value::bigint * 1000000000 and f.ended_ns
        and regexp_matches(r.text || ' ' || coalesce(r.message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
    left join rank_host as k on k.job_id = f.job_id and k.attempt = f.attempt and k.rank = r.rank
),
counted as (
    select
        failure_id, min(host) as host, min(place_count) as place_count, min(seen_count) as seen_count, count(distinct rank) as rank_count, count(distinct address) as address_count,
        arg_min(file_id, (from_ns, file_id, line_no)) as file_id, arg_min(line_no, (from_ns, file_id, line_no)) as line_no
    from unreached
    group by failure_id
    having count(distinct place) = 1 and count(*) = count(place)
)
select
    c.failure_id,
    c.host,
    c.rank_count,
    c.address_count,
    c.file_id,
    c.line_no
from counted as c
where c.rank_count > 1 and c.rank_count = c.place_count and c.address_count > 2 and c.seen_count > c.place_count
