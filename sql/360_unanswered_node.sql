-- A target, or a proxy short of CPU, that left the requests of a rank without an answer again and
-- again, while the way to it was open.
-- grain: one row a failure and rank
-- reads: failure_case, rank_host, rank_request, ais_event, node, node_endpoint, node_process,
-- reads: threshold
-- case: yes
-- note: Every request begins at a proxy. One that runs into its time-out, or is refused, at the
-- note: address of a target has got through to the proxy just before: the rank's host is not cut
-- note: off.
create or replace view unanswered_node as
with recent as (
    select
        r.*, f.started_ns, coalesce(i.place, 'file ' || r.file_id::varchar) as place,
        regexp_matches(r.text, 'Read timed out|ReadTimeout') as is_late,
        is_late or regexp_matches(r.text, '\[Errno 111\]|[Cc]onnection refused') as is_taken,
        regexp_matches(r.text,
            '\[Errno 113\]|No route to host|[Cc]onnect timeout|ConnectTimeout|\[Errno 110\]')
            as is_path
    from rank_request as r
    join failure_case as f on f.failure_id = r.failure_id
    join threshold as t on t.name = 'stall_reach_s'
    left join rank_host as i on i.job_id = r.job_id and i.attempt = r.attempt and i.rank = r.rank
    where r.outcome in ('retry', 'error') and r.endpoint is not null
        and r.to_ns >= least(f.stall_ns, f.crash_ns) - t.value::bigint * 1000000000
),
shut as (
    select r.failure_id, r.endpoint, count(distinct r.place) < 2 as is_new
    from recent as r
    left join node_process as p on p.cluster = r.cluster and p.node_id = r.node_id
        and p.started_at is not null and p.started_ns between r.started_ns and r.from_ns
    where r.is_path
    group by r.failure_id, r.endpoint
    having count(distinct r.place) > 1 or count(p.node_id) > 0
),
starved as (
    select r.failure_id, r.endpoint
    from recent as r
    join node as n on n.cluster = r.cluster and n.node_id = r.node_id and n.role = 'proxy'
    join threshold as g on g.name = 'fault_gap_s'
    where r.is_late
        and exists (from ais_event as e
            where e.cluster = r.cluster and e.node_id = r.node_id
                and e.pattern = 'ais_state_alert_list' and contains(e.text, '-cpu')
                and abs(e.utc_ns - r.from_ns) <= g.value * 1000000000)
    group by r.failure_id, r.endpoint
    having count(*) >= (select value from threshold where name = 'unanswered_by_proxy')
),
failed as (
    select
        r.failure_id, r.rank, r.cluster, r.endpoint, r.node_id, r.from_ns, r.file_id, r.line_no,
        (r.is_taken or (r.is_path and s.endpoint is not null))
            and regexp_matches(coalesce(r.url, r.text), '/v1/(objects|ml/moss)/')
            and coalesce(n.role = 'target' or (v.endpoint is not null and r.is_late),
                r.node_id is null and contains(r.text, 'pid='))
                as is_unanswered,
        contains(coalesce(r.url, r.text), '/v1/ml/moss/') as is_batch,
        coalesce(s.is_new, false) as is_new, e.first_ns as announced_ns,
        e.file_id as announced_file_id, e.line_no as announced_line_no
    from recent as r
    left join shut as s on s.failure_id = r.failure_id and s.endpoint = r.endpoint
    left join starved as v on v.failure_id = r.failure_id and v.endpoint = r.endpoint
    left join node as n on n.cluster = r.cluster and n.node_id = r.node_id
    left join node_endpoint as e on s.is_new and e.cluster = r.cluster and e.node_id = r.node_id
        and e.endpoint = r.endpoint and e.first_ns <= r.from_ns
)
select
    failure_id,
    rank,
    any_value(cluster) as cluster,
    case when not bool_or(is_batch) then any_value(node_id) end as node_id,
    count(distinct (file_id, line_no)) as request_count,
    min(from_ns) as first_ns,
    arg_min(file_id, (from_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (from_ns, file_id, line_no)) as line_no,
    arg_max(announced_file_id, announced_ns) filter (where is_new) as announced_file_id,
    arg_max(announced_line_no, announced_ns) filter (where is_new) as announced_line_no
from failed
group by failure_id, rank
having bool_and(is_unanswered) and count(distinct endpoint) = 1
    and request_count >= (select value from threshold where name = 'unanswered_requests')
