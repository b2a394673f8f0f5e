-- An object that the job itself put to one target while another was away, and that this one, back without a rebalance, says does not exist.
-- grain: one row a failure, rank and node that was away
-- reads: failure_lead, rank_request, rank_word, node_endpoint, node_fault, fault_kind, ais_event
-- case: yes
-- note: What is written while a target is away goes to those that took its share, and is found there no more once the target is back, as long as no rebalance has moved it. The words of a rank must name the object and the address of another target that it was put to; line_no is that line.
create or replace view misplaced_write as
select
    f.failure_id, r.rank, r.node_id, 'written_elsewhere' as loss, 1 as object_count,
    arg_min(w.file_id, (w.file_id, w.line_no)) as file_id, arg_min(w.line_no, (w.file_id, w.line_no)) as line_no
from failure_lead as f
join rank_request as r on r.failure_id = f.failure_id and r.outcome in ('missing', 'error') and length(r.object) >= 5 and regexp_matches(r.text, '(?i)does not exist|not found|\b404\b')
join rank_word as w on w.job_id = f.job_id and w.attempt = f.attempt and contains(w.line, '/' || r.object) and not (w.file_id = r.file_id and w.line_no >= r.line_no)
    and regexp_matches(w.line, '(?i)\b(put|wrote|written|uploaded|saved|stored|sent|exported|dumped)\b') and not regexp_matches(w.line, '(?i)fail|error|exception|retry|could not|unable')
join node_endpoint as e on e.cluster = f.cluster and e.endpoint = regexp_extract(w.line, 'https?://([\w.-]+:\d+)', 1) and e.node_id <> r.node_id
join node_fault as n on n.cluster = f.cluster and n.node_id = r.node_id and n.role = 'target' and n.ended_ns > f.started_ns and n.started_ns < r.to_ns
join fault_kind as k on k.fault_kind = n.fault_kind and k.takes_away and n.fault_kind <> 'disk_fault'
where f.crash_pattern is not null
    and not exists (from ais_event as b where b.cluster = f.cluster and b.node_id = n.node_id and b.pattern = 'ais_rebalance_started' and b.utc_ns between n.ended_ns and r.to_ns)
group by f.failure_id, r.rank, r.node_id
