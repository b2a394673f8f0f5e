-- A batch at which a target was still busy when its client gave up, while a rank failed because no answer came in time.
-- grain: one row a failure whose culprit waited for an answer of storage in vain
-- reads: failure_lead, get_batch_chain_step, threshold
-- case: yes
-- note: AIStore notices that a client is gone when it writes to it. A request that ran into its read time-out had been taken, so a target that learns of it later had not answered: quiet logs are then no proof that storage answered. A host that is cut off cannot connect either, and fails otherwise.
create or replace view batch_left_open as
select
    f.failure_id,
    arg_min(s.node_id, (s.utc_ns, s.file_id, s.line_no)) as node_id,
    arg_min(s.wid, (s.utc_ns, s.file_id, s.line_no)) as wid,
    arg_min(s.file_id, (s.utc_ns, s.file_id, s.line_no)) as file_id,
    arg_min(s.line_no, (s.utc_ns, s.file_id, s.line_no)) as line_no
from failure_lead as f
join get_batch_chain_step as s on s.cluster = f.cluster and s.step = 'client_gone'
join threshold as b on b.name = 'felt_before_s'
join threshold as a on a.name = 'felt_after_s' and s.utc_ns between coalesce(f.hang_start_ns, f.crash_ns) - b.value * 1000000000 and f.crash_latest_ns + a.value * 1000000000
where regexp_matches(f.crash_pattern, 'read_timeout$|^storage_timeout$')
group by f.failure_id
