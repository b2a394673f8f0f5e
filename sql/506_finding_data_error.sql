-- The data itself is wrong: a missing or misnamed object, a corrupt sample, a manifest that does not fit.
-- grain: one row a failure
-- reads: failure_lead
-- stored: yes
-- empty without: failure_lead
-- note: Storage that answered truthfully is innocent, unless a node was away at another time and nothing proves the clocks. Content that ends early may be a cut stream: then it stays open while a fault was on.
create or replace view finding_data_error as
select
    failure_id,
    'data_error' as finding,
    case when crash_class = 'data' then 'fired' else 'quiet' end as state,
    'data' as failure_class,
    crash_pattern as failure_kind,
    case
        when stray_count > 0 and regexp_matches(crash_pattern, 'missing|not_found|entry') then 'undetermined'
        when is_storage_seen and link_score < 0.5 then 'innocent'
        when is_storage_seen and fault_kind = 'disk_fault' and link_kind = 'fault_time' and crash_node_id <> link_node_id then 'innocent'
        when is_storage_seen and not regexp_matches(crash_pattern, 'missing|not_found|truncated|stop_iteration|entry') and link_kind = 'fault_time' then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    null::varchar as node_id,
    culprit_rank as rank,
    null::varchar as chain_id,
    case when is_storage_seen and link_score < 0.5 and (coalesce(stray_count, 0) = 0 or not regexp_matches(crash_pattern, 'missing|not_found|entry')) then 0.9 when is_storage_seen then 0.6 else 0.8 end as score,
    culprit_words || ' got data it could not use: ' || coalesce(exception || ': ', '') || substr(coalesce(regexp_replace(crash_message, '^[\w.]+: ', ''), crash_pattern), 1, 160) as statement,
    [
        {'file_id': crash_file_id, 'line_no': crash_line_no, 'why': 'the error of ' || culprit_words},
        {'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'why ' || culprit_words || ': ' || basis_words}
    ] as supports,
    case when link_score >= 0.5 then [{'file_id': link_file_id, 'line_no': link_line_no, 'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: ' || fault_kind}] else [] end as contradicts
from failure_lead
where crash_pattern is not null
