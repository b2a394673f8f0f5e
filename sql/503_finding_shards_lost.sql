-- A rank had no samples left before the others, after its loaders had passed over shards that a node of AIStore did not give.
-- grain: one row a failure
-- reads: failure_lead, worker_event, node_fault, fault_kind, threshold
-- stored: yes
-- empty without: failure_lead where activity = 'epoch_end' and crash_pattern is null
-- note: A loader that goes on after an error (warn_and_continue) leaves out what it could not read; where an epoch is as long as a rank's own shards, the rank that lost most ends it first, long after the node is back. The shards must have failed by their connection while a node was gone, and nowhere as many of them as where the rank writes: who lost none, as many as others, or a shard that is broken, had fewer from the start; of one log for all ranks only lines of the rank itself tell.
create or replace view finding_shards_lost as
with ended as (
    select *
    from failure_lead
    where crash_pattern is null and culprit_rank is not null and activity = 'epoch_end'
        and regexp_matches(activity_text, '(?i)\bno (more )?(samples|batches|data) left\b|\br[au]n out of (samples|batches|data)\b')
),
passed as (
    select f.failure_id, e.rank, e.file_id, e.line_no, n.node_id, n.fault_kind, n.started_at, n.file_id as fault_file_id, n.line_no as fault_line_no
    from ended as f
    join worker_event as e on e.job_id = f.job_id and e.attempt = f.attempt and e.pattern in ('webdataset_sample_skipped', 'sdk_sample_skipped') and e.utc_ns <= f.stall_ns
        and regexp_matches(e.text, '(?i)\bexit (7|28|52|56) \(|connection|refused|timed? ?out|unreachable|\[Errno 1\d\d\]')
    join threshold as p on p.name = 'fault_slack_s'
    join node_fault as n on n.cluster = f.cluster and n.weight >= 0.9 and e.utc_ns <= n.ended_ns + p.value * 1e9 and coalesce(e.latest_ns, e.utc_ns) >= n.started_ns - p.value * 1e9
    where f.is_cluster_sure
    qualify row_number() over (partition by f.failure_id, e.file_id, e.line_no order by n.weight desc, n.started_ns, n.node_id) = 1
),
counted as (
    select failure_id, rank, file_id, count(*) as shard_count, min(line_no) as line_no,
        arg_min(node_id, line_no) as node_id, arg_min(fault_kind, line_no) as fault_kind, arg_min(started_at, line_no) as started_at, arg_min(fault_file_id, line_no) as fault_file_id, arg_min(fault_line_no, line_no) as fault_line_no
    from passed
    group by failure_id, rank, file_id
),
ranked as (
    select *, max(shard_count) over (partition by failure_id) as top_count, count(*) over (partition by failure_id, shard_count) as tie_count
    from counted
),
written as (
    select f.failure_id, count(distinct w.file_id) as file_count
    from ended as f
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank is not null
    group by f.failure_id
)
select
    f.failure_id,
    'shards_lost' as finding,
    case when c.shard_count = c.top_count and c.tie_count = 1 and (c.rank is not null or w.file_count > 1) then 'fired' else 'quiet' end as state,
    'data_loading_stall' as failure_class,
    'shards_passed_over' as failure_kind,
    'guilty' as storage_verdict,
    c.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.76 as score,
    'rank ' || f.culprit_rank::varchar || ' had no samples left and kept the others waiting; loaders beside it had passed over ' || c.shard_count::varchar || case when c.shard_count = 1 then ' shard' else ' shards' end
        || ' while AIStore node ' || c.node_id || ' ' || k.stalled_words || ' (since ' || strftime(c.started_at::timestamp, '%H:%M:%S') || ' UTC)' as statement,
    [
        {'file_id': f.activity_file_id, 'line_no': f.activity_line_no, 'why': 'it had come to the end of its data'},
        {'file_id': c.file_id, 'line_no': c.line_no, 'why': 'the first shard that was passed over'},
        {'file_id': c.fault_file_id, 'line_no': c.fault_line_no, 'why': 'what was wrong with ' || c.node_id},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from ended as f
join ranked as c on c.failure_id = f.failure_id and c.file_id = f.activity_file_id and coalesce(c.rank, f.culprit_rank) = f.culprit_rank
left join written as w on w.failure_id = f.failure_id
join fault_kind as k on k.fault_kind = c.fault_kind
