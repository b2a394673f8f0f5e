-- The data itself is wrong: a missing or misnamed object, a corrupt sample, a manifest that does not fit.
-- grain: one row a failure
-- reads: failure_lead, rank_request, node_fault, ais_event, node_witness
-- stored: yes
-- empty without: failure_lead
-- note: Storage that answered truthfully is innocent, but of a bucket that is gone in the middle of a job it stays open who took it, unless a node was away at another time and nothing proves the clocks. A bucket with a backend reads again what a target evicted (LRU), an ais:// bucket has lost it: objects that are gone from such a target are storage's doing, if they are several; one may just as well have a wrong name, and is left open. So does one that lost a disk, unless an operator took it out: of that one object is enough. A cleanup of misplaced objects behind a rebalance that was broken off takes what no other target has got. Content that ends early may be a cut stream: then it stays open while a fault was on.
create or replace view finding_data_error as
with absent as (
    select cluster, utc_ns, regexp_extract(text, 'ais://([^/\s"]+)/', 1) as bucket, regexp_extract(text, 'ais://(\S+) does not exist', 1) as object
    from ais_event
    where pattern = 'ais_http_not_found'
),
gone as (
    select r.failure_id, r.rank, n.node_id, n.fault_kind, greatest(count(distinct r.object), count(distinct a.object)) as object_count, arg_min(n.file_id, (n.started_ns, n.file_id, n.line_no)) as file_id, arg_min(n.line_no, (n.started_ns, n.file_id, n.line_no)) as line_no
    from rank_request as r
    join node_fault as n on n.cluster = r.cluster and ((n.node_id = r.node_id and n.started_ns <= r.from_ns and n.fault_kind = 'evicting') or (n.fault_kind = 'misplaced_removed' and n.started_ns <= r.to_ns and exists (select 1 from node_witness as w where w.cluster = n.cluster and w.effect = 'rebalance_aborted' and w.utc_ns <= n.started_ns)) or (n.node_id = r.node_id and n.started_ns <= r.from_ns and n.fault_kind = 'disk_fault' and not regexp_matches(n.text, '(?i)disabl|detach')))
    left join absent as a on n.fault_kind = 'misplaced_removed' and a.cluster = n.cluster and a.utc_ns between n.started_ns and r.to_ns and a.bucket = regexp_extract(r.text, 'ais://([^/\s"]+)/', 1)
    where r.outcome in ('missing', 'retry', 'error') and r.object is not null and regexp_matches(r.text, '(?i)does not exist|not found|\b404\b')
        and (starts_with(coalesce(r.bucket, ''), 'ais://') or (r.bucket is null and contains(coalesce(r.url, ''), 'provider=ais')))
    group by r.failure_id, r.rank, n.node_id, n.fault_kind
),
judged as (
    select f.*, e.object_count, e.fault_kind = 'disk_fault' as is_disk, coalesce(e.fault_kind = 'misplaced_removed', false) as is_cleaned, e.node_id as gone_node_id, e.file_id as gone_file_id, e.line_no as gone_line_no, coalesce(e.object_count > 1 or is_disk, false) as is_gone, coalesce(regexp_matches(f.crash_pattern, 'bucket_not_found$') and f.progress_ns is not null, false) as is_taken
    from failure_lead as f
    left join gone as e on e.failure_id = f.failure_id and e.rank = f.culprit_rank and regexp_matches(f.crash_pattern, 'missing|not_found|entry')
    qualify row_number() over (partition by f.failure_id order by is_gone desc, e.object_count desc nulls last, e.node_id, is_disk) = 1
)
select
    failure_id,
    'data_error' as finding,
    case when crash_class = 'data' then 'fired' else 'quiet' end as state,
    case when is_gone then 'storage_io' else 'data' end as failure_class,
    case when is_gone and is_disk then 'disk_lost' when is_gone and is_cleaned then 'misplaced_removed' when is_gone then 'evicted' else crash_pattern end as failure_kind,
    case
        when is_gone then 'guilty'
        when object_count > 0 or is_taken then 'undetermined'
        when stray_count > 0 and regexp_matches(crash_pattern, 'missing|not_found|entry') then 'undetermined'
        when is_storage_seen and link_score < 0.5 then 'innocent'
        when is_storage_seen and fault_kind = 'disk_fault' and link_kind = 'fault_time' and crash_node_id <> link_node_id then 'innocent'
        when is_storage_seen and not regexp_matches(crash_pattern, 'missing|not_found|truncated|stop_iteration|entry') and link_kind = 'fault_time' then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    case when is_gone then gone_node_id end as node_id,
    culprit_rank as rank,
    null::varchar as chain_id,
    case when is_gone and object_count > 1 then 0.8 when is_gone then 0.68 when object_count > 0 or is_taken then 0.6 when is_storage_seen and link_score < 0.5 and (coalesce(stray_count, 0) = 0 or not regexp_matches(crash_pattern, 'missing|not_found|entry')) then 0.9 when is_storage_seen then 0.6 else 0.8 end as score,
    culprit_words || ' got data ' || case when culprit_rank is null and alike_count > 1 then 'they' else 'it' end || ' could not use: ' || coalesce(exception || ': ', '') || substr(coalesce(nullif(regexp_extract(crash_message, '"message":"((?:[^"\\]|\\.)+)"', 1), ''), regexp_replace(crash_message, '^[\w.]+: ', ''), crash_pattern), 1, 160)
        || case when is_gone and is_disk then '; target ' || gone_node_id || ' had lost a disk before, and what the rank asked it for is gone' when is_gone and is_cleaned then '; a rebalance was broken off and then a cleanup removed what it calls misplaced (target ' || gone_node_id || '): ' || object_count::varchar || ' objects of the bucket are gone' when is_cleaned then '; a rebalance was broken off and then a cleanup removed what it calls misplaced, so it may have been there' when is_gone then '; target ' || gone_node_id || ' had evicted objects (LRU) before, and ' || object_count::varchar || ' that the rank asked it for are gone' when object_count > 0 then '; target ' || gone_node_id || ' had evicted objects (LRU) before, so it may have been there' when is_taken then '; the job had made steps before, so somebody has renamed or removed the bucket since' else '' end as statement,
    [
        {'file_id': crash_file_id, 'line_no': crash_line_no, 'why': 'the error of ' || culprit_words},
        {'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'why ' || culprit_words || ': ' || basis_words},
        {'file_id': gone_file_id, 'line_no': gone_line_no, 'why': 'the target that has not got it ' || case when is_disk then 'lost a disk' when is_cleaned then 'removed misplaced objects' else 'evicts objects' end}
    ] as supports,
    case when link_score >= 0.5 then [{'file_id': link_file_id, 'line_no': link_line_no, 'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: ' || fault_kind}] else [] end as contradicts
from judged
where crash_pattern is not null
