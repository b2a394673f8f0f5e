-- Ranks that could not connect to one address, that of a target of AIStore, while other ranks of their host complained of nothing.
-- grain: one row a failure
-- reads: failure_lead, rank_request, rank_host, node, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: rank_request where outcome in ('error', 'retry', 'chained') and endpoint is not null and regexp_matches(text || ' ' || coalesce(message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
-- note: A host that has lost its way loses it for all its ranks, and seldom to one node only: what stands at that address may be the reason as well. Where ranks of two hosts fail at it, or its node has just begun, unanswered_node says more. Requests count from stall_reach_s before the rank failed.
create or replace view lone_address as
with unreached as (
    select f.failure_id, r.rank, r.endpoint, n.role, k.place, k.place_count, r.from_ns, r.file_id, r.line_no
    from failure_lead as f
    join threshold as p on p.name = 'stall_reach_s'
    join rank_request as r on r.failure_id = f.failure_id and r.outcome in ('error', 'retry', 'chained') and r.endpoint is not null
        and r.to_ns >= f.stall_ns - p.value::bigint * 1000000000
        and regexp_matches(r.text || ' ' || coalesce(r.message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
    left join node as n on n.cluster = r.cluster and n.node_id = r.node_id
    left join rank_host as k on k.job_id = f.job_id and k.attempt = f.attempt and k.rank = r.rank
)
select
    failure_id,
    any_value(endpoint) as endpoint,
    count(distinct rank) as rank_count,
    arg_min(file_id, (from_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (from_ns, file_id, line_no)) as line_no
from unreached
group by failure_id
having count(distinct endpoint) = 1 and bool_and(coalesce(role = 'target', false)) and count(distinct place) = 1 and count(*) = count(place) and count(distinct rank) < min(place_count)
