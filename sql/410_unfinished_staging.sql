-- A host that was still fetching its data from AIStore when the others gave up waiting for its processes.
-- grain: one row a failure
-- reads: failure_lead, failure_signal, worker_event, worker_tail, worker_file, failing_disk
-- stored: yes
-- empty without: failure_lead
-- empty without: worker_event where pattern = 'data_source_staging'
-- note: Its log tells that it copies from an address of AIStore or S3, nothing of a launcher follows, and its last word counts fewer objects than it wants. node_id: the one target of which a disk moved next to nothing from the first fifth of the others' wait to its end.
create or replace view unfinished_staging as
with waited as (
    select f.failure_id, f.job_id, f.attempt, f.spoke_ns, max(coalesce(try_cast(json_extract_string(s.capture, '$.wait_limit_s') as double), 300)) as wait_s
    from failure_lead as f
    join failure_signal as s on s.job_id = f.job_id and s.attempt = f.attempt and s.pattern in ('tcpstore_clients_missing', 'rendezvous_timeout', 'c10d_store_barrier_timeout')
    where f.timeout_count = 0
    group by f.failure_id, f.job_id, f.attempt, f.spoke_ns
),
behind as (
    select w.failure_id, t.file_id, t.line_no, t.text
    from waited as w
    join worker_event as e on e.job_id = w.job_id and e.attempt = w.attempt and e.pattern = 'data_source_staging'
    join worker_file as p on p.file_id = e.file_id
    join worker_tail as t on t.file_id = e.file_id and p.path_attempt + t.attempt_no = w.attempt
    where t.activity in ('data_loading', 'storage_wait') and try_cast(regexp_extract(t.text, '\b(\d+) ?(?:of|/) ?\d+\b', 1) as bigint) < try_cast(regexp_extract(t.text, '\b\d+ ?(?:of|/) ?(\d+)\b', 1) as bigint)
        and not exists (from worker_tail as n where n.file_id = t.file_id and n.line_no > t.line_no)
        and not exists (from worker_event as o where o.file_id = e.file_id and o.line_no > e.line_no and o.pattern <> 'data_source_staging')
    qualify row_number() over (partition by w.failure_id order by t.file_id, t.line_no desc) = 1
),
slow as (
    select w.failure_id, min(d.node_id) as node_id, arg_min(d.file_id, (d.file_id, d.line_no)) as file_id, arg_min(d.line_no, (d.file_id, d.line_no)) as line_no
    from waited as w
    join failing_disk as d on d.failure_id = w.failure_id and d.started_ns <= w.spoke_ns - 0.8 * w.wait_s * 1e9 and d.ended_ns >= w.spoke_ns - 30e9
    group by w.failure_id
    having count(distinct d.node_id) = 1
)
select
    b.failure_id,
    b.file_id,
    b.line_no,
    b.text,
    s.node_id,
    s.file_id as disk_file_id,
    s.line_no as disk_line_no
from behind as b
left join slow as s on s.failure_id = b.failure_id
