-- The one target whose disk was at its limit and that finished no part of a checkpoint, while the others finished theirs and ranks waited for it.
-- grain: one row a failure
-- reads: failure_lead, culprit, rank_activity, checkpoint_place, node_fault, counter_delta, threshold
-- case: yes
-- note: Parts of a checkpoint fall on all targets alike, and a PUT is counted when it is done. The words of the job must name a store (AIStore's own or S3's), a stack must show a culprit in the checkpoint, and no other culprit at something else. whole_read_bytes: what is as large is a part of a checkpoint and no note beside it. Eight parts or more elsewhere, and three times as many as targets that share them: that none fell on this one is chance in one of twenty. Its own count begins before its disk was at its limit and goes on to the end of the hang, theirs lies between.
create or replace view unfinished_write as
with doing as (
    select u.job_id, u.attempt, arg_min((a.file_id, a.line_no), a.rank) as place, min(a.rank) as rank
    from culprit as u
    join rank_activity as a on a.job_id = u.job_id and a.attempt = u.attempt and a.rank = u.rank and a.witness = 'stack'
    group by u.job_id, u.attempt
    having bool_and(a.activity = 'checkpoint')
),
pressed as (
    select f.failure_id, f.stall_ns, coalesce(f.spoke_ns, f.stall_ns) as until_ns, n.cluster, any_value(n.node_id) as node_id, min(n.started_ns) as started_ns, min((n.file_id, n.line_no)) as place, any_value((s.file_id, s.line_no)) as word_place, any_value(d.place) as stack_place, any_value(d.rank) as stack_rank
    from failure_lead as f
    join checkpoint_place as s on s.job_id = f.job_id and s.attempt = f.attempt and s.goes_to = 'store'
    join doing as d on d.job_id = f.job_id and d.attempt = f.attempt
    join threshold as p on p.name = 'fault_slack_s'
    join node_fault as n on n.cluster = f.cluster and n.role = 'target' and n.fault_kind in ('pressure', 'disk_stuck') and regexp_matches(n.text, '^\w [0-9:.]+ [\w/-]+: .*\d%$')
        and n.started_ns <= f.stall_ns + p.value * 1e9 and n.ended_ns >= coalesce(f.spoke_ns, f.stall_ns) - 30e9
    where f.is_cluster_sure and f.hang_start_ns is not null and f.crash_pattern is null
    group by f.failure_id, f.stall_ns, f.spoke_ns, n.cluster
    having count(distinct n.node_id) = 1
),
written as (
    select p.failure_id, d.node_id = p.node_id as is_pressed, d.node_id, d.file_id, d.line_no, max(d.utc_ns) as until_ns, sum(d.delta) filter (where d.counter = 'put.n') as put_count, sum(d.delta) filter (where d.counter = 'put.size') as byte_count
    from pressed as p
    join counter_delta as d on d.cluster = p.cluster and d.node_role = 'target' and d.counter in ('put.n', 'put.size')
        and case when d.node_id = p.node_id then d.utc_ns > p.started_ns - 120e9 and d.previous_ns < p.until_ns else d.previous_ns >= p.started_ns and d.previous_ns < p.stall_ns end
    group by p.failure_id, p.node_id, d.node_id, d.file_id, d.line_no
),
counted as (
    select w.failure_id, coalesce(sum(w.put_count) filter (where not w.is_pressed and w.byte_count >= t.value * w.put_count), 0) as put_count, count(distinct w.node_id) filter (where not w.is_pressed and w.put_count > 0 and w.byte_count >= t.value * w.put_count) as target_count,
        max(w.until_ns) filter (where w.is_pressed) as until_ns, coalesce(sum(w.byte_count) filter (where w.is_pressed), 0) < any_value(t.value) as is_unfinished
    from written as w
    join threshold as t on t.name = 'whole_read_bytes'
    group by w.failure_id
)
select p.failure_id, p.node_id, c.put_count::bigint as put_count, c.target_count, p.stack_rank,
    p.place[1] as file_id, p.place[2] as line_no, p.word_place[1] as word_file_id, p.word_place[2] as word_line_no, p.stack_place[1] as stack_file_id, p.stack_place[2] as stack_line_no
from pressed as p
join counted as c on c.failure_id = p.failure_id and c.put_count >= 8 and c.put_count >= 3 * c.target_count and c.is_unfinished and c.until_ns > p.stall_ns and c.until_ns >= p.until_ns - 90e9
