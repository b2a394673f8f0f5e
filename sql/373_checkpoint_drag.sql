-- A target whose disk was at its limit and moved next to nothing all the while a rank stood in a checkpoint that goes to a store.
-- grain: one row a failure and target
-- reads: failure_lead, worker_tail, worker_file, checkpoint_place, ais_event, node, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: worker_tail where activity = 'checkpoint'; ais_event where pattern = 'ais_disk_busy'
-- note: A healthy disk at its limit moves hundreds of MiB/s of large or tens of small pieces; one below idle_disk_mib_s both ways is failing, and what is written there waits. The job's own words must name the store (an address of AIStore's API, or of S3, which it serves); one whose checkpoints go to a path is none. The lines must begin after the job and before the others waited, and go on to their time-out.
create or replace view checkpoint_drag as
with stored as (
    select w.job_id, w.path_attempt + t.attempt_no as attempt, arg_max(t.file_id, (t.line_no, t.file_id)) as file_id, max(t.line_no) as line_no
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint' and regexp_matches(t.text, '(ais|s3|msc)://|/v1/objects|/s3/')
    group by w.job_id, w.path_attempt + t.attempt_no
),
busy as (
    select
        e.cluster, e.node_id, regexp_extract(e.text, '^\w \S+ ([\w.-]+): ', 1) as disk, e.utc_ns, e.file_id, e.line_no,
        list_max([try_cast(regexp_extract(x, '^[\d.]+') as double) * case when contains(x, 'GiB') then 1024 when contains(x, 'MiB') then 1 else 0 end for x in regexp_extract_all(e.text, '[\d.]+[KMG]?i?B/s')]) as moved_mib_s
    from ais_event as e
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'target'
    where e.pattern = 'ais_disk_busy'
)
select
    f.failure_id, b.node_id, min(b.utc_ns) as started_ns, count(*) as line_count,
    arg_min(b.file_id, (b.utc_ns, b.line_no)) as file_id, arg_min(b.line_no, (b.utc_ns, b.line_no)) as line_no,
    any_value(s.file_id) as word_file_id, any_value(s.line_no) as word_line_no
from failure_lead as f
join stored as s on s.job_id = f.job_id and s.attempt = f.attempt
join busy as b on b.cluster = f.cluster and b.utc_ns between f.started_ns and f.spoke_ns
join threshold as t on t.name = 'idle_disk_mib_s'
join threshold as c on c.name = 'fault_slack_s'
join threshold as k on k.name = 'stuck_disk_lines'
where f.activity = 'checkpoint' and f.hang_start_ns is not null and f.is_cluster_sure
    and not exists (from checkpoint_place as p where p.job_id = f.job_id and p.attempt = f.attempt)
group by f.failure_id, f.hang_start_ns, f.spoke_ns, b.node_id, b.disk, c.value, k.value
having max(b.moved_mib_s) < any_value(t.value) and min(b.utc_ns) <= f.hang_start_ns + c.value * 1e9 and max(b.utc_ns) >= f.spoke_ns - 30e9 and count(*) >= k.value and count(*) * 20e9 >= f.spoke_ns - f.hang_start_ns
