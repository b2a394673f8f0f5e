-- A rank's read ran into its time-out while the disk of one target of AIStore was at its limit and moved next to nothing.
-- grain: one row a failure of this kind
-- reads: failure_lead, failing_disk, storage_relation, node, threshold
-- case: yes
-- note: The request was taken and its bytes stayed away, as they do where the disk that they lie on fails; whose address it was need not be known. The disk must have failed for a read time-out before (cold_read_s), until the error (usual distance of its lines: half a minute), and no disk of another target with it. An error of the connection, of another service, or one that names another target is not explained by it; nor is a time-out of the whole life of an answer, which a slow reader meets as well.
create or replace view finding_read_starved as
with failing as (
    select
        k.failure_id, min(k.node_id) as node_id, count(distinct k.node_id) as node_count, min(k.started_ns) as started_ns, max(k.ended_ns) as ended_ns,
        arg_min(k.disk, (k.started_ns, k.file_id, k.line_no)) as disk, arg_min(k.file_id, (k.started_ns, k.file_id, k.line_no)) as file_id, arg_min(k.line_no, (k.started_ns, k.file_id, k.line_no)) as line_no
    from failing_disk as k
    group by k.failure_id
)
select
    f.failure_id,
    'read_starved' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    'disk_stuck' as failure_kind,
    'guilty' as storage_verdict,
    d.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.78 as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern) || ' while disk ' || d.disk || ' of AIStore node ' || d.node_id || ' was at its limit and moved next to nothing, since '
        || strftime(make_timestamp_ns(d.started_ns)::timestamp, '%H:%M:%S') || ' UTC' as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': d.file_id, 'line_no': d.line_no, 'why': 'the first line of the disk that failed'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    case when f.is_crash_named then [] else [{'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the tie is by time only: the error names no node and no request'}] end as contradicts
from failure_lead as f
join failing as d on d.failure_id = f.failure_id and d.node_count = 1
join storage_relation as r on r.failure_id = f.failure_id and r.rank is not distinct from f.culprit_rank and r.time_weight >= 0.6
join threshold as c on c.name = 'cold_read_s'
left join node as t on t.cluster = f.cluster and t.node_id = coalesce(f.crash_node_id, f.request_node_id) and t.role = 'target'
where f.crash_class = 'storage_io' and regexp_matches(f.crash_pattern, 'read_timeout$') and f.is_storage_seen and f.is_cluster_sure
    and d.started_ns <= f.stall_ns - c.value * 1e9 and d.ended_ns >= f.stall_ns - 30e9 and coalesce(t.node_id, d.node_id) = d.node_id
