-- Answers of storage that had fewer bytes than they announced, as ranks say that compared the two, before one failed over content that ends early.
-- grain: one row a failure
-- reads: failure_lead, worker_event, node_endpoint, node, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: worker_event where pattern = 'http_answer_short'
-- note: In stall_reach_s before the error; the rank that failed must be among those who say so. address_count: how many addresses they name. A single address that several ranks name is the place where the answers end, whatever that target prints.
create or replace view short_answer as
select
    f.failure_id,
    count(*) as line_count,
    count(distinct w.rank) as rank_count,
    count(distinct w.endpoint) as address_count,
    any_value(w.endpoint) as endpoint,
    max(n.node_id) filter (where n.role = 'target') as node_id,
    arg_max(w.file_id, (w.rank = f.culprit_rank, w.utc_ns, w.file_id, w.line_no)) as file_id,
    arg_max(w.line_no, (w.rank = f.culprit_rank, w.utc_ns, w.file_id, w.line_no)) as line_no,
    arg_min(w.file_id, (w.rank = f.culprit_rank, w.utc_ns, w.file_id, w.line_no)) as other_file_id,
    arg_min(w.line_no, (w.rank = f.culprit_rank, w.utc_ns, w.file_id, w.line_no)) as other_line_no
from failure_lead as f
join threshold as s on s.name = 'stall_reach_s'
join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.pattern = 'http_answer_short' and w.utc_ns between f.crash_ns - s.value * 1e9 and f.crash_latest_ns
    and json_extract_string(w.capture, '$.came_bytes')::bigint < json_extract_string(w.capture, '$.announced_bytes')::bigint
left join node_endpoint as e on e.cluster = f.cluster and e.endpoint = w.endpoint
left join node as n on n.cluster = e.cluster and n.node_id = e.node_id
where w.rank is not null and w.endpoint is not null and contains(w.text, '/v1/objects/')
group by f.failure_id
having bool_or(w.rank = f.culprit_rank)
