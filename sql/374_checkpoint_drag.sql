-- A target whose disk was at its limit and moved next to nothing all the while a rank stood in a checkpoint that goes to a store.
-- grain: one row a failure and target
-- reads: failure_lead, checkpoint_store, checkpoint_place, ais_event, node, threshold
-- stored: yes
-- empty without: failure_lead
-- empty without: checkpoint_store
-- empty without: ais_event where pattern = 'ais_disk_busy'
-- note: A healthy disk at its limit moves hundreds of MiB/s of large or tens of small pieces; one below idle_disk_mib_s both ways is failing, and what is written there waits. Its lines begin after the job (a disk that prints such lines before it is one that counts wrongly), after the last line of good speed and before the others waited, and go on through the hang. One whose checkpoints go to a path waits for none.
create or replace view checkpoint_drag as
with busy as (
    select
        e.cluster, e.node_id, regexp_extract(e.text, '^\w \S+ ([\w.-]+): ', 1) as disk, e.utc_ns, e.file_id, e.line_no,
        list_max([try_cast(regexp_extract(x, '^[\d.]+') as double) * case when contains(x, 'GiB') then 1024 when contains(x, 'MiB') then 1 else 0 end for x in regexp_extract_all(e.text, '[\d.]+[KMG]?i?B/s')]) as moved_mib_s
    from ais_event as e
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'target'
    where e.pattern = 'ais_disk_busy'
),
held as (
    select
        f.failure_id, f.started_ns, f.hang_start_ns, f.spoke_ns, b.node_id, b.disk, b.utc_ns, b.file_id, b.line_no, s.file_id as word_file_id, s.line_no as word_line_no,
        coalesce(max(b.utc_ns) filter (where b.moved_mib_s >= t.value) over (partition by f.failure_id, b.node_id, b.disk), 0) as well_ns
    from failure_lead as f
    join checkpoint_store as s on s.job_id = f.job_id and s.attempt = f.attempt
    join threshold as t on t.name = 'idle_disk_mib_s'
    join threshold as u on u.name = 'usual_line_s'
    join busy as b on b.cluster = f.cluster and b.utc_ns between f.started_ns - u.value * 1e9 and f.spoke_ns and b.moved_mib_s is not null
    where f.activity = 'checkpoint' and f.hang_start_ns is not null and f.is_cluster_sure
        and not exists (from checkpoint_place as p where p.job_id = f.job_id and p.attempt = f.attempt)
)
select
    h.failure_id,
    h.node_id,
    min(h.utc_ns) as started_ns,
    count(*) as line_count,
    arg_min(h.file_id, (h.utc_ns, h.file_id, h.line_no)) as file_id,
    arg_min(h.line_no, (h.utc_ns, h.file_id, h.line_no)) as line_no,
    any_value(h.word_file_id) as word_file_id,
    any_value(h.word_line_no) as word_line_no
from held as h
join threshold as c on c.name = 'fault_slack_s'
join threshold as k on k.name = 'stuck_disk_lines'
where h.utc_ns > h.well_ns
group by h.failure_id, h.started_ns, h.hang_start_ns, h.spoke_ns, h.node_id, h.disk, c.value, k.value
having min(h.utc_ns) between h.started_ns and h.hang_start_ns + c.value * 1e9 and max(h.utc_ns) >= h.spoke_ns - 30e9
    and count(*) filter (where h.utc_ns >= h.hang_start_ns) >= greatest(k.value, (h.spoke_ns - h.hang_start_ns) / 20e9)
