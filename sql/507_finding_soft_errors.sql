-- A batch failed because more of its entries were not in the bucket than it may miss, and no node of AIStore was in trouble.
-- grain: one row a failure
-- reads: failure_lead, soft_broken_chain, node_fault, ais_event
-- case: yes
-- note: An error of a mounted file system is about no batch. Storage answered truthfully: names that are wrong, or objects that somebody deleted. It stays open while the log of any node is missing, which may hold the entries and have a disk out, a node was away at a time that clocks in doubt may bring here, the target misses entries all the time, or a target that evicted, cleaned up or removed something since ten minutes before the job may have lost them. Where AIStore got a new configuration in the middle of the job, and within a minute more than one target began to break batches off over their soft errors, which none had done since the job began, somebody lowered the limit.
create or replace view finding_soft_errors as
with broken as (
    select f.failure_id, any_value(f.cluster) as cluster, any_value(f.started_ns) as started_ns, min(e.utc_ns) as first_ns, count(distinct e.node_id) as node_count
    from failure_lead as f
    join ais_event as e on e.cluster = f.cluster and e.utc_ns between f.started_ns and f.crash_latest_ns and contains(e.text, 'exceeded soft-errors limit')
    group by f.failure_id
),
lowered as (
    select b.failure_id, c.file_id, c.line_no, round((b.first_ns - c.utc_ns) / 1e9)::integer as lag_s
    from broken as b
    join ais_event as c on c.cluster = b.cluster and c.pattern = 'ais_config_changed' and c.utc_ns between greatest(b.started_ns, b.first_ns - 60000000000) and b.first_ns
    where b.node_count > 1
    qualify row_number() over (partition by b.failure_id order by c.utc_ns desc, c.file_id, c.line_no) = 1
)
select
    f.failure_id,
    'soft_errors' as finding,
    case when f.crash_class in ('storage_io', 'data_loading_stall', 'data') and not starts_with(f.crash_pattern, 'fs_') then 'fired' else 'quiet' end as state,
    case when l.failure_id is null then 'data' else 'storage_io' end as failure_class,
    case when l.failure_id is null then 'entries_missing' else 'limit_lowered' end as failure_kind,
    case when l.failure_id is not null then 'guilty' when f.is_storage_seen and f.covered_count >= f.node_total and f.fault_count = 0 and coalesce(f.stray_count, 0) = 0 and not s.is_usual
        and not exists (from node_fault as n where n.cluster = f.cluster and n.role = 'target' and (n.fault_kind in ('evicting', 'misplaced_removed') or contains(n.text, 'store cleanup')) and n.started_ns between f.started_ns - 600e9 and f.crash_latest_ns) then 'innocent' else 'undetermined' end as storage_verdict,
    null::varchar as node_id,
    f.culprit_rank as rank,
    f.chain_id,
    case when l.failure_id is not null then 0.82 when s.is_usual then 0.65 else 0.8 end as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern)
        || case when f.received_count is not null then ' (' || f.received_count::varchar || ' of ' || coalesce(f.expected_count::varchar, '?') || ' entries came)' else '' end
        || ' because entries of its batch were not in the bucket: target ' || s.node_id || ' counted ' || s.soft_count::varchar || ' that it missed, ' || case when l.failure_id is null and f.covered_count >= f.node_total then 'and no node of AIStore was in trouble' when l.failure_id is null then 'and the logs at hand, which are not those of all nodes, show none in trouble' else 'and several targets broke batches off for that, as none had before, since AIStore got a new configuration ' || l.lag_s::varchar || ' s before the first' end as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': case when s.is_stated then 'the target says how many entries it missed' else 'the target counted entries that it missed (err.soft.getbatch.n)' end},
        {'file_id': l.file_id, 'line_no': l.line_no, 'why': 'AIStore got a new configuration'},
        {'file_id': f.link_file_id, 'line_no': f.link_line_no, 'why': 'the tie: ' || f.link_words},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from failure_lead as f
join soft_broken_chain as s on s.chain_id = f.chain_id
left join lowered as l on l.failure_id = f.failure_id
where f.crash_pattern is not null
