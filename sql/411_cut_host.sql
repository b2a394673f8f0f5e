-- A host of a job that had lost its way to AIStore: all its ranks failed to connect to several nodes, and no rank of another host did to any.
-- grain: one row a failure
-- reads: failure_lead, rank_request, failed_rank, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: rank_request where outcome in ('error', 'retry', 'chained') and endpoint is not null and regexp_matches(text || ' ' || coalesce(message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
-- note: Needs ranks of other hosts, two ranks of the host, and three addresses at least: one node that is gone, or one rank that fails, is no cut host. A refused connection reached the other side.
create or replace view cut_host as
with home as (
    select job_id, attempt, host, count(*) as rank_count, count(distinct host) over (partition by job_id, attempt) as host_count
    from (select job_id, attempt, rank, split_part(host, '.', 1) as host from failed_rank where host is not null and not is_absent)
    group by job_id, attempt, host
),
unreached as (
    select f.failure_id, f.job_id, f.attempt, split_part(k.host, '.', 1) as host, r.rank, split_part(r.endpoint, ':', 1) as address, r.from_ns, r.file_id, r.line_no
    from failure_lead as f
    join threshold as p on p.name = 'stall_reach_s'
    join rank_request as r on r.failure_id = f.failure_id and r.outcome in ('error', 'retry', 'chained') and r.endpoint is not null
        and r.from_ns between f.stall_ns - p.value::bigint * 1000000000 and f.ended_ns
        and regexp_matches(r.text || ' ' || coalesce(r.message, ''), '(?i)connect timeout|ConnectTimeout|No route to host|Network is unreachable')
    left join failed_rank as k on k.job_id = f.job_id and k.attempt = f.attempt and k.rank = r.rank
),
counted as (
    select
        failure_id, any_value(job_id) as job_id, any_value(attempt) as attempt, min(host) as host, count(distinct rank) as rank_count, count(distinct address) as address_count,
        arg_min(file_id, (from_ns, file_id, line_no)) as file_id, arg_min(line_no, (from_ns, file_id, line_no)) as line_no
    from unreached
    group by failure_id
    having count(distinct host) = 1 and count(*) = count(host)
)
select
    c.failure_id,
    c.host,
    c.rank_count,
    c.address_count,
    c.file_id,
    c.line_no
from counted as c
join home as h on h.job_id = c.job_id and h.attempt = c.attempt and h.host = c.host
where c.rank_count > 1 and c.rank_count = h.rank_count and c.address_count > 2 and h.host_count > 1
