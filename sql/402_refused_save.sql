-- A job that stood still over writes which AIStore went on to refuse for want of space until the job was ended.
-- grain: one row a failure
-- reads: failure_case, failed_attempt, job_cluster, step_time, worker_event, node_fault, threshold
-- stored: yes
-- empty without: failure_case
-- empty without: failed_attempt where is_cancelled
-- empty without: node_fault where fault_kind = 'out_of_space'
-- note: Who waits for an upload that is tried again and again prints and does not train: nothing fails until somebody ends it. The refusals must be in AIStore's own words (its mountpaths' capacity), have begun with the last step, go on to the end (hang_word_slack_s), and a target of the job's cluster must be out of space then. Where steps go on beside them nobody waits.
create or replace view refused_save as
with refused as (
    select f.failure_id, c.cluster, f.cancel_ns, any_value(t.step_ns) as step_ns, count(*) as line_count, arg_min(w.file_id, (w.utc_ns, w.file_id, w.line_no)) as client_file_id, arg_min(w.line_no, (w.utc_ns, w.file_id, w.line_no)) as client_line_no
    from failure_case as f
    join failed_attempt as a on a.job_id = f.job_id and a.attempt = f.attempt and a.is_cancelled
    join (select job_id, attempt, max(utc_ns) as step_ns from step_time group by job_id, attempt) as t on t.job_id = f.job_id and t.attempt = f.attempt
    join threshold as k on k.name = 'cluster_sure'
    join threshold as p on p.name = 'hang_word_slack_s'
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt and c.certainty >= k.value
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and ends_with(w.pattern, 'out_of_space') and contains(w.text, 'of total capacity on at least one of the mountpaths') and w.utc_ns <= f.cancel_ns + p.value * 1e9
    where t.step_ns <= f.cancel_ns - p.value * 1e9
    group by f.failure_id, c.cluster, f.cancel_ns, p.value
    having count(*) >= 3 and max(w.utc_ns) >= f.cancel_ns - p.value * 1e9 and min(w.utc_ns) between any_value(t.step_ns) - p.value * 1e9 and any_value(t.step_ns) + p.value * 1e9
)
select
    r.failure_id,
    n.node_id,
    r.line_count,
    n.file_id, n.line_no, r.client_file_id, r.client_line_no,
    'it had stood still since ' || strftime(make_timestamp_ns(r.step_ns)::timestamp, '%H:%M:%S') || ' UTC over writes that AIStore refused to the end (' || r.line_count::varchar || ' lines): its target ' || n.node_id || ' was out of space' as words
from refused as r
join node_fault as n on n.cluster = r.cluster and n.role = 'target' and n.fault_kind = 'out_of_space' and n.started_ns <= r.cancel_ns and n.ended_ns >= r.cancel_ns - 60000000000
qualify row_number() over (partition by r.failure_id order by n.started_ns, n.node_id) = 1
