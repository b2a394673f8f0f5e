-- The rank's own error speaks of storage, but AIStore's logs are missing or show nothing that fits.
-- grain: one row a failure
-- reads: failure_lead, threshold
-- stored: yes
-- note: What the server itself says in the error (a refused node, out of space, a rejected request) is believed; a reset, a time-out or a bare status is not proof of whose fault it was.
create or replace view finding_storage_unlinked as
with judged as (
    select
        *,
        regexp_matches(crash_pattern, 'sdk_(connection_refused|deadline_exceeded|out_of_space|rejected|entry_timeout|entry_network_error|no_target|not_ready|server_error)|http_throttled|http_server_error|s3_slow_down|s3_server_error') as is_server_word,
        regexp_matches(crash_pattern, 'short|truncated|stream|metadata|multipart|extract') as is_cut_answer
    from failure_lead
)
select
    failure_id,
    'storage_unlinked' as finding,
    case when crash_class = 'storage_io' and link_score < (select value from threshold where name = 'link_score') then 'fired' when crash_class is null then 'quiet' else 'quiet' end as state,
    case
        when is_storage_seen and not is_server_word and not is_cut_answer and fault_count = 0 then 'network'
        else 'storage_io'
    end as failure_class,
    case when is_storage_seen then 'storage_logs_show_nothing' else 'client_side_only' end as failure_kind,
    case
        when crash_node_id is not null and is_server_word and coalesce(cluster_certainty, 0) < 0.5 then 'guilty'
        when is_storage_seen and not is_server_word and not is_cut_answer and fault_count = 0 then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    case when is_server_word then crash_node_id end as node_id,
    culprit_rank as rank,
    null::varchar as chain_id,
    case when is_storage_seen and not is_server_word and not is_cut_answer then 0.6 when is_storage_seen then 0.55 else 0.72 end as score,
    'rank ' || culprit_rank::varchar || ' failed with ' || coalesce(exception, crash_pattern) || ' while reading from storage; '
        || case when is_storage_seen then 'the AIStore logs at hand show no fault at that moment' else 'without AIStore logs it stays open whose fault that was' end as statement,
    [
        {'file_id': crash_file_id, 'line_no': crash_line_no, 'why': 'the error of rank ' || culprit_rank::varchar},
        {'file_id': request_file_id, 'line_no': request_line_no, 'why': 'what it met at the storage before'},
        {'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'why rank ' || culprit_rank::varchar || ': ' || basis_words}
    ] as supports,
    [] as contradicts
from judged
where crash_pattern is not null
