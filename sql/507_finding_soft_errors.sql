-- A batch failed because more of its entries were not in the bucket than it may miss, and no node of AIStore was in trouble.
-- grain: one row a failure
-- reads: failure_lead, soft_broken_chain, node_fault
-- stored: yes
-- empty without: failure_lead
-- empty without: soft_broken_chain
-- note: An error of a mounted file system is about no batch. Storage answered truthfully: names that are wrong, or objects that somebody deleted. It stays open while less of AIStore's side is at hand than acquits, a node was away at a time that clocks in doubt may bring here, the target misses entries all the time, or a target that evicted, cleaned up or removed something since ten minutes before the job may have lost them.
create or replace view finding_soft_errors as
select
    f.failure_id,
    'soft_errors' as finding,
    case when f.crash_class in ('storage_io', 'data_loading_stall', 'data') and not starts_with(f.crash_pattern, 'fs_') then 'fired' else 'quiet' end as state,
    'data' as failure_class,
    'entries_missing' as failure_kind,
    case when f.is_storage_seen and f.fault_count = 0 and coalesce(f.stray_count, 0) = 0 and not s.is_usual
        and not exists (from node_fault as n where n.cluster = f.cluster and n.role = 'target' and (n.fault_kind in ('evicting', 'misplaced_removed') or contains(n.text, 'store cleanup')) and n.started_ns between f.started_ns - 600e9 and f.crash_latest_ns) then 'innocent' else 'undetermined' end as storage_verdict,
    null::varchar as node_id,
    f.culprit_rank as rank,
    f.chain_id,
    case when s.is_usual then 0.65 else 0.8 end as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern)
        || case when f.received_count is not null then ' (' || f.received_count::varchar || ' of ' || coalesce(f.expected_count::varchar, '?') || ' entries came)' else '' end
        || ' because entries of its batch were not in the bucket: target ' || s.node_id || ' counted ' || s.soft_count::varchar || ' that it missed, and no node of AIStore was in trouble' as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': case when s.is_stated then 'the target says how many entries it missed' else 'the target counted entries that it missed (err.soft.getbatch.n)' end},
        {'file_id': f.link_file_id, 'line_no': f.link_line_no, 'why': 'the tie: ' || f.link_words},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from failure_lead as f
join soft_broken_chain as s on s.chain_id = f.chain_id
where f.crash_pattern is not null
