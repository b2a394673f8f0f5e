-- The data itself is wrong: a missing or misnamed object, a corrupt sample, a manifest that does not fit.
-- grain: one row a failure
-- reads: failure_lead, rank_request, node_fault
-- stored: yes
-- empty without: failure_lead
-- note: Storage that answered truthfully is innocent, unless a node was away at another time and nothing proves the clocks. A bucket with a backend reads again what a target evicted (LRU), an ais:// bucket has lost it: objects that are gone from such a target are storage's doing, if they are several; one may just as well have a wrong name, and is left open. Content that ends early may be a cut stream: then it stays open while a fault was on.
create or replace view finding_data_error as
with evicted as (
    select r.failure_id, r.rank, n.node_id, count(distinct r.object) as object_count, arg_min(n.file_id, (n.started_ns, n.file_id, n.line_no)) as file_id, arg_min(n.line_no, (n.started_ns, n.file_id, n.line_no)) as line_no
    from rank_request as r
    join node_fault as n on n.cluster = r.cluster and n.node_id = r.node_id and n.fault_kind = 'evicting' and n.started_ns <= r.from_ns
    where r.outcome in ('missing', 'retry', 'error') and r.object is not null and regexp_matches(r.text, '(?i)does not exist|not found|\b404\b')
        and (starts_with(coalesce(r.bucket, ''), 'ais://') or (r.bucket is null and contains(coalesce(r.url, ''), 'provider=ais')))
    group by r.failure_id, r.rank, n.node_id
),
judged as (
    select f.*, e.object_count, e.node_id as evicted_node_id, e.file_id as evicted_file_id, e.line_no as evicted_line_no, coalesce(e.object_count > 1, false) as is_evicted
    from failure_lead as f
    left join evicted as e on e.failure_id = f.failure_id and e.rank = f.culprit_rank and regexp_matches(f.crash_pattern, 'missing|not_found|entry')
    qualify row_number() over (partition by f.failure_id order by e.object_count desc nulls last, e.node_id) = 1
)
select
    failure_id,
    'data_error' as finding,
    case when crash_class = 'data' then 'fired' else 'quiet' end as state,
    case when is_evicted then 'storage_io' else 'data' end as failure_class,
    case when is_evicted then 'evicted' else crash_pattern end as failure_kind,
    case
        when is_evicted then 'guilty'
        when object_count > 0 then 'undetermined'
        when stray_count > 0 and regexp_matches(crash_pattern, 'missing|not_found|entry') then 'undetermined'
        when is_storage_seen and link_score < 0.5 then 'innocent'
        when is_storage_seen and fault_kind = 'disk_fault' and link_kind = 'fault_time' and crash_node_id <> link_node_id then 'innocent'
        when is_storage_seen and not regexp_matches(crash_pattern, 'missing|not_found|truncated|stop_iteration|entry') and link_kind = 'fault_time' then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    case when is_evicted then evicted_node_id end as node_id,
    culprit_rank as rank,
    null::varchar as chain_id,
    case when is_evicted then 0.8 when object_count > 0 then 0.6 when is_storage_seen and link_score < 0.5 and (coalesce(stray_count, 0) = 0 or not regexp_matches(crash_pattern, 'missing|not_found|entry')) then 0.9 when is_storage_seen then 0.6 else 0.8 end as score,
    culprit_words || ' got data ' || case when culprit_rank is null and alike_count > 1 then 'they' else 'it' end || ' could not use: ' || coalesce(exception || ': ', '') || substr(coalesce(regexp_replace(crash_message, '^[\w.]+: ', ''), crash_pattern), 1, 160)
        || case when is_evicted then '; target ' || evicted_node_id || ' had evicted objects (LRU) before, and ' || object_count::varchar || ' that the rank asked it for are gone' when object_count > 0 then '; target ' || evicted_node_id || ' had evicted objects (LRU) before, so it may have been there' else '' end as statement,
    [
        {'file_id': crash_file_id, 'line_no': crash_line_no, 'why': 'the error of ' || culprit_words},
        {'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'why ' || culprit_words || ': ' || basis_words},
        {'file_id': evicted_file_id, 'line_no': evicted_line_no, 'why': 'the target that has not got it evicts objects'}
    ] as supports,
    case when link_score >= 0.5 then [{'file_id': link_file_id, 'line_no': link_line_no, 'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: ' || fault_kind}] else [] end as contradicts
from judged
where crash_pattern is not null
