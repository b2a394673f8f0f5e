-- A program's own error says that what a target of AIStore gave is not what it should be, or is gone, and a disk of that target had failed.
-- grain: one row a failure
-- reads: failure_lead, node_endpoint, node, node_fault, fault_kind, threshold
-- case: yes
-- note: Two of AIStore's own words prove it: the checksum in the head of an answer (ais-checksum-value), which AIStore wrote beside the object, and which the bytes of the answer do not match; and its message of an object that does not exist, by a target that lost a disk while the job ran. The error must name the target, by its id or its address (its host, where one target is there); an address that no log of AIStore tells may be that of the only target whose disk failed at that time, and did while the job ran. That is a guess: it stays open where the disk only gave errors, which reads meet without other bytes, unless the target's own line of it names the bucket of the message. A wrong name would not exist either, so without a lost disk nobody is accused, and content that is no picture or no sound may have been put there so.
create or replace view finding_disk_behind as
with host as (
    select e.cluster, split_part(e.endpoint, ':', 1) as host, any_value(e.node_id) as node_id
    from node_endpoint as e
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'target'
    group by e.cluster, split_part(e.endpoint, ':', 1)
    having count(distinct e.node_id) = 1
),
worded as (
    select
        f.failure_id, f.cluster, f.culprit_rank, f.culprit_words, f.exception, f.crash_pattern, coalesce(f.crash_ns, f.stall_ns) as crash_ns, coalesce(f.crash_latest_ns, f.stall_ns) as crash_latest_ns, f.started_ns, f.crash_file_id, f.crash_line_no, f.basis_file_id, f.basis_line_no, f.basis_words,
        f.crash_message as words, regexp_matches(f.crash_message, '(?i)\bais-checksum-value\b') as is_checksum, p.value * 1e9 as reach_ns, s.value * 1e9 as slack_ns
    from failure_lead as f
    join threshold as p on p.name = 'named_fault_s'
    join threshold as s on s.name = 'fault_slack_s'
    where f.is_cluster_sure and (f.crash_class = 'software' or f.crash_pattern = 'http_checksum_mismatch')
        and (is_checksum or regexp_matches(f.crash_message, 't\[[^\]\s]+\]: ais://\S+ does not exist'))
),
met as (
    select
        w.*, n.node_id, n.fault_kind, n.weight, n.started_ns as fault_ns, n.started_at, n.file_id, n.line_no,
        contains(w.words, 't[' || n.node_id || ']') or (w.is_checksum and coalesce(contains(w.words, '//' || h.host || ':'), false)) as is_named,
        w.is_checksum and regexp_matches(w.words, '//[^/\s]+:\d') and not exists (from node_endpoint as e where e.cluster = w.cluster and contains(w.words, '//' || split_part(e.endpoint, ':', 1) || ':')) as is_unknown,
        nullif(regexp_extract(w.words, '(?:/v1/objects|/s3|\bais:/)/([^/\s?]+)/', 1), '') as bucket,
        coalesce(contains(n.text, '/' || bucket || '/%ob/') or contains(n.text, '/v1/objects/' || bucket || '/') or contains(n.text, '://' || bucket || '/'), false) as is_told
    from worded as w
    join node_fault as n on n.cluster = w.cluster and n.role = 'target' and n.started_ns <= w.crash_latest_ns + w.slack_ns
        and case when w.is_checksum then n.fault_kind in ('disk_errors', 'disk_fault') and n.ended_ns >= w.crash_ns - w.reach_ns else n.fault_kind = 'disk_fault' and n.started_ns >= w.started_ns end
    left join host as h on h.cluster = n.cluster and h.node_id = n.node_id
),
found as (
    select *, is_named or is_told or fault_kind = 'disk_fault' as is_sure
    from (select *, count(distinct node_id) over (partition by failure_id) as node_count from met)
    where is_named or (is_unknown and node_count = 1 and started_ns <= fault_ns)
    qualify row_number() over (partition by failure_id order by is_named desc, is_sure desc, weight desc, fault_ns desc, node_id) = 1
)
select
    f.failure_id,
    'disk_behind' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    f.fault_kind as failure_kind,
    case when f.is_sure then 'guilty' else 'undetermined' end as storage_verdict,
    case when f.is_sure then f.node_id end as node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.85 as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern) || case when not f.is_sure then ': bytes that AIStore gave are not those of its own checksum, by a target whose address no log tells; of AIStore node ' || f.node_id || ' it is only known that it ' when f.is_checksum then ': bytes that AIStore node ' || f.node_id || ' gave are not those of its own checksum, and it ' else ': AIStore node ' || f.node_id || ' says that objects do not exist, and it ' end
        || k.broke_words || ' at ' || strftime(f.started_at::timestamp, '%H:%M:%S') || ' UTC' as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': f.file_id, 'line_no': f.line_no, 'why': 'what was wrong with ' || f.node_id},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [] as contradicts
from found as f
join fault_kind as k on k.fault_kind = f.fault_kind
