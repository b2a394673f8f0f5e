-- All ranks of one host of a job, and no rank of another, stood waiting for data, and only the time ties a target of AIStore to it: with what the kernel of that host said of its network just before.
-- grain: one row a failure
-- reads: failure_lead, culprit_cause, rank_host, rank_request, node_fault, worker_event, threshold
-- case: yes
-- note: A target serves every host alike, so that its fault alone does not explain why exactly one host waits, while the others, which got their data, wait for that one. A proxy may serve one host alone; a request, an error or a chain that names the node is more than the time, but for requests of that host that break at several targets. A rank of the host that gave up waiting for the others while its own requests broke is of those that wait. Most culprits must wait for data themselves, by what they do or as requests of theirs fail while the others wait, for where one rank of a host loads for all the others need not. That a batch broke at that moment is no more than the time either. Which host a rank is of tells rank_host. Of two hosts of which one is known, the kernel's line that names another is of the second. A kernel's line counts from the log of that host, or where it names it, up to stall_reach_s before the others waited; one that is printed at the end lies behind it.
create or replace view host_apart as
with waiting as (
    select u.failure_id, u.rank, u.activity in ('storage_wait', 'data_loading', 'worker_wait') or count(r.outcome) > 0 as is_waiting
    from culprit_cause as u
    join failure_lead as f on f.failure_id = u.failure_id
    left join rank_request as r on r.failure_id = u.failure_id and r.rank = u.rank and r.outcome in ('retry', 'error', 'pending') and r.to_ns >= f.stall_ns and r.from_ns <= f.spoke_ns
    group by u.failure_id, u.rank, u.activity
),
asked as (
    select r.failure_id, p.place, count(distinct r.node_id) as node_count, count(distinct r.rank) filter (where u.rank is null) as other_count
    from rank_request as r
    join failure_lead as f on f.failure_id = r.failure_id and r.to_ns >= f.stall_ns and r.from_ns <= f.spoke_ns
    join rank_host as p on p.job_id = f.job_id and p.attempt = f.attempt and p.rank = r.rank
    left join culprit_cause as u on u.failure_id = r.failure_id and u.rank = r.rank
    where r.outcome in ('retry', 'error', 'pending')
    group by r.failure_id, p.place
),
apart as (
    select f.failure_id, any_value(f.job_id) as job_id, any_value(f.attempt) as attempt, any_value(f.stall_ns) as stall_ns, min(p.host) as host, count(*) as rank_count, list(distinct p.file_id) as file_ids, list(u.rank) as ranks
    from failure_lead as f
    join waiting as u on u.failure_id = f.failure_id
    left join rank_host as p on p.job_id = f.job_id and p.attempt = f.attempt and p.rank = u.rank
    left join node_fault as n on n.fault_id = f.fault_id
    left join asked as d on d.failure_id = f.failure_id and d.place = p.place
    where f.crash_pattern is null and coalesce(f.activity, 'unknown') in ('storage_wait', 'data_loading', 'worker_wait', 'unknown', 'step') and (f.link_kind is null or ((f.link_kind in ('fault_time', 'chain_time') or (f.link_kind = 'request_node' and d.node_count > 1)) and n.role is distinct from 'proxy'))
    group by f.failure_id
    having count(*) > 1 and count(p.place) = count(*) and min(p.place) = max(p.place) and count(*) + coalesce(min(d.other_count), 0) = min(p.place_count) and min(p.seen_count) > min(p.place_count)
        and count(*) filter (where u.is_waiting) * 2 > count(*)
),
port as (
    select a.failure_id, w.file_id, w.line_no, w.message
    from apart as a
    join threshold as r on r.name = 'stall_reach_s'
    join threshold as s on s.name = 'fault_slack_s'
    join worker_event as w on w.job_id = a.job_id and w.attempt = a.attempt and w.pattern = 'kernel_network_trouble' and w.utc_ns between a.stall_ns - r.value::bigint * 1000000000 and a.stall_ns + s.value::bigint * 1000000000
    where coalesce(w.host = a.host or starts_with(w.host, a.host || '.'), contains(w.message, ' ' || a.host || ' kernel:'), false)
        or (a.host is null and regexp_extract(w.message, '([^\s.]+)\S* kernel:', 1) <> '' and exists (select 1 from rank_host as o where o.job_id = a.job_id and o.attempt = a.attempt and o.place is not null and not list_contains(a.ranks, o.rank) group by o.job_id having count(o.host) = count(*) and count(*) = any_value(o.seen_count) - a.rank_count and count(distinct o.host) = 1 and min(o.host) <> regexp_extract(w.message, '([^\s.]+)\S* kernel:', 1)))
        or (w.host is null and list_contains(a.file_ids, w.file_id) and not exists (select 1 from rank_host as o where o.job_id = a.job_id and o.attempt = a.attempt and o.file_id = w.file_id and not list_contains(a.ranks, o.rank)))
    qualify row_number() over (partition by a.failure_id order by w.utc_ns desc, w.file_id, w.line_no) = 1
)
select
    a.failure_id,
    a.host,
    a.rank_count,
    p.file_id,
    p.line_no,
    p.message
from apart as a
left join port as p on p.failure_id = a.failure_id
