-- A target whose disk was at its limit and moved next to nothing all the while a rank stood in a checkpoint that goes to a store.
-- grain: one row a failure, target and disk
-- reads: failure_lead, checkpoint_place, failing_disk, threshold
-- case: yes
-- note: What is written there waits. The disk began to fail before the others waited, and it went on through the hang. One whose checkpoints go to a path waits for none.
create or replace view checkpoint_drag as
select
    f.failure_id,
    d.node_id,
    d.started_ns,
    d.line_count,
    d.file_id,
    d.line_no,
    s.file_id as word_file_id,
    s.line_no as word_line_no
from failure_lead as f
join checkpoint_place as s on s.job_id = f.job_id and s.attempt = f.attempt and s.goes_to = 'store'
join threshold as c on c.name = 'fault_slack_s'
join failing_disk as d on d.failure_id = f.failure_id and d.started_ns <= f.hang_start_ns + c.value * 1e9 and d.ended_ns >= f.spoke_ns - 30e9
where f.activity = 'checkpoint'
