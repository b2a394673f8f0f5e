-- A target whose disk was at its limit and moved next to nothing until a failure.
-- grain: one row a failure, target and disk
-- reads: failure_lead, ais_event, node, threshold
-- case: yes
-- note: A healthy disk at its limit moves hundreds of MiB/s of large or tens of small pieces; one below idle_disk_mib_s both ways is failing, and what lies there comes late. Its lines begin after the job (a disk that prints such lines before it is one that counts wrongly) and after its last line of good speed, and come at least every 20 s.
create or replace view failing_disk as
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
        f.failure_id, f.started_ns as job_ns, b.node_id, b.disk, b.utc_ns, b.file_id, b.line_no,
        coalesce(max(b.utc_ns) filter (where b.moved_mib_s >= t.value) over (partition by f.failure_id, b.node_id, b.disk), 0) as well_ns
    from failure_lead as f
    join threshold as t on t.name = 'idle_disk_mib_s'
    join threshold as u on u.name = 'usual_line_s'
    join busy as b on b.cluster = f.cluster and b.utc_ns between f.started_ns - u.value * 1e9 and coalesce(f.crash_latest_ns, f.spoke_ns) + 5e9 and b.moved_mib_s is not null
    where f.is_cluster_sure
)
select
    h.failure_id,
    h.node_id,
    h.disk,
    min(h.utc_ns) as started_ns,
    max(h.utc_ns) as ended_ns,
    count(*) as line_count,
    arg_min(h.file_id, (h.utc_ns, h.file_id, h.line_no)) as file_id,
    arg_min(h.line_no, (h.utc_ns, h.file_id, h.line_no)) as line_no
from held as h
join threshold as k on k.name = 'stuck_disk_lines'
where h.utc_ns > h.well_ns
group by h.failure_id, h.job_ns, h.node_id, h.disk, k.value
having min(h.utc_ns) >= h.job_ns and count(*) >= greatest(k.value, (max(h.utc_ns) - min(h.utc_ns)) / 20e9)
