-- A request of a rank that got no connection at all, with the host of the rank: nobody took it within its time, or there was no way.
-- grain: one row a request of a rank and failure
-- reads: failure_lead, rank_request, rank_host, threshold
-- case: yes
-- note: Requests count that were not over stall_reach_s before the rank failed (low_ns). A refused connection reached the other side, and is none.
create or replace view unreached_request as
select
    f.failure_id, r.rank, r.cluster, r.node_id, r.endpoint, r.url, k.host, k.place, k.place_count, k.seen_count,
    f.stall_ns - p.value::bigint * 1000000000 as low_ns, f.ended_ns, r.from_ns, r.file_id, r.line_no
from failure_lead as f
join threshold as p on p.name = 'stall_reach_s'
join rank_request as r on r.failure_id = f.failure_id and r.outcome in ('error', 'retry', 'chained') and r.endpoint is not null
    and r.to_ns >= f.stall_ns - p.value::bigint * 1000000000
    and regexp_matches(r.text || ' ' || coalesce(r.message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
left join rank_host as k on k.job_id = f.job_id and k.attempt = f.attempt and k.rank = r.rank
