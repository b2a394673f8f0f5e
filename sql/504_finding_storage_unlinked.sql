-- The rank's own error speaks of storage, but AIStore's logs are missing or show nothing that fits.
-- grain: one row a failure
-- reads: failure_lead, rank_request, cut_answer, batch_left_open, storage_relation, unanswered_node, storage_remark, bucket_change, node, node_coverage, fault_kind, finding_storage_error
-- stored: yes
-- empty without: failure_lead where crash_pattern is not null
-- note: What the server itself says in the error (a refused node, out of space, a rejected request) is believed; a reset, a time-out or a bare status is not proof of whose fault it was; a read time-out says that the request was taken, so quiet logs do not acquit; nor are they quiet where a node complains of what the error names; neither do they where a client's own error is not understood, or its answer was not readable or not whole; nor do they where AIStore answered with an error, whatever it says. A server whose certificate has expired is its own witness. A daemon that answers with a status of 500 and more or of 429 again and again, that its backend, its disk or its slices failed it, or how full its mountpaths are, or that an entry of a batch never came from another target, says that it failed, whatever its log holds; not where it ran the user's transformation (ETL). A daemon that refuses a connection and whose log goes no further, while those of the others do, was gone. A stream that was resumed again and again and each time ended in the middle, without a reset or a time-out, was closed by the server's side. An error that names another service is not AIStore's. It stands wherever finding_storage_error does not, so that logs of some nodes never hide the rank's own error.
create or replace view finding_storage_unlinked as
with node_end as (
    select cluster, node_id, max(ended_ns) as ended_ns from node_coverage group by cluster, node_id
),
judged as (
    select
        f.*, m.node_id as remark_node_id, m.name as remark_name, m.file_id as remark_file_id, m.line_no as remark_line_no, u.cut_count, u.file_id as cut_file_id, u.line_no as cut_line_no,
        coalesce(e.state = 'fired', false) as is_tied, k.broke_words,
        q.failure_id is not null as is_unanswered, o.node_id as open_node_id, o.file_id as open_file_id, o.line_no as open_line_no,
        coalesce(r.is_foreign, false) as is_foreign,
        f.crash_pattern like 'fs\_%' escape '\' and y.rank is null and m.failure_id is null as is_file_system,
        f.crash_pattern like '%connection_refused%' and n.node_id is not null as is_refused,
        f.crash_pattern like '%connection_refused%' and v.ended_ns <= f.crash_latest_ns + 5000000000 and f.is_storage_cleared as is_gone,
        regexp_matches(f.crash_pattern, 'sdk_(backend_failed|backend_bucket_gone|bad_checksum|cold_get_disabled|disk_error|job_refused|keys_unavailable|mountpath_gone|node_failed_inside|restore_failed|connection_refused|deadline_exceeded|out_of_space|rejected|entry_timeout|entry_network_error|no_target|not_ready|server_error)|http_throttled|http_retried_status|http_server_error|s3_ais_failed|s3_out_of_space|s3_slow_down|s3_server_error') as is_server_word,
        (regexp_matches(f.crash_pattern, 'short|truncated|stream|resume|metadata|multipart|extract') or coalesce(f.request_pattern = 'fetch_broken', false)) as is_cut_answer,
        f.crash_pattern in ('http_server_error', 's3_ais_failed', 's3_out_of_space', 's3_server_error', 'http_retried_status', 'http_throttled') as is_status, (f.crash_pattern in ('sdk_server_error', 'sdk_backend_failed', 'sdk_backend_bucket_gone', 'sdk_bad_checksum', 'sdk_job_refused', 'sdk_cold_get_disabled', 'sdk_disk_error', 'sdk_entry_timeout', 'sdk_keys_unavailable', 'sdk_mountpath_gone', 'sdk_node_failed_inside', 'sdk_restore_failed', 's3_ais_failed') or (f.crash_pattern like '%out_of_space' and contains(f.crash_text || coalesce(f.crash_message, ''), 'of total capacity on at least one of the mountpaths')) or (is_status and (f.request_node_id is not null or regexp_matches(f.crash_text, '/v1/|:\d+/s3/')))) and not regexp_matches(f.crash_text || coalesce(f.crash_message, ''), '(?i)\betl(_name)?\b|ErrETL') as is_own_failure
    from failure_lead as f
    left join storage_relation as r on r.failure_id = f.failure_id and r.rank is not distinct from f.culprit_rank
    left join (select distinct failure_id, rank from rank_request where pattern in ('fetch_broken', 'mountpoint_s3_failed')) as y on y.failure_id = f.failure_id and y.rank = f.culprit_rank left join storage_remark as m on m.failure_id = f.failure_id left join cut_answer as u on u.failure_id = f.failure_id and u.rank = f.culprit_rank
    left join finding_storage_error as e on e.failure_id = f.failure_id
    left join fault_kind as k on k.fault_kind = f.fault_kind and f.fault_count > 0 left join unanswered_node as q on q.failure_id = f.failure_id and q.rank = f.culprit_rank
    left join batch_left_open as o on o.failure_id = f.failure_id left join node as n on n.cluster = f.cluster and n.node_id = f.request_node_id left join node_end as v on v.cluster = n.cluster and v.node_id = n.node_id
),
judgement as (
    select *,
        case
            when is_foreign then 'foreign_service' when is_file_system then 'file_system'
            when is_gone then 'node_gone'
            when is_unanswered and is_storage_seen then 'target_unanswered'
            when crash_pattern in ('http_certificate_expired', 'http_certificate_mismatch', 'http_target_certificate_untrusted') and coalesce(request_node_id is not null or regexp_matches(crash_text, '/v1/|:5108\d/s3/'), false) then 'server_said'
            when (crash_node_id is not null or is_status) and is_server_word and (crash_node_id is not null and not is_storage_seen or is_own_failure) then 'server_said'
            when is_cut_answer and cut_count >= 3 then 'answers_cut'
            when is_storage_seen and fault_count = 0 and coalesce(stray_count, 0) = 0 and not is_followed then 'storage_logs_end_early'
            when is_storage_seen and not is_server_word and status_code is null and crash_pattern not in ('sdk_status_error', 'http_ais_bad_request', 'data_pipe_failed', 'hdf5_fetch_failed', 'storage_client_error', 'storage_answer_unreadable', 'storage_checksum_mismatch', 'http_checksum_mismatch', 'storage_read_failed') and not coalesce(crash_pattern = 'storage_transfer_failed' and regexp_matches(crash_text, '\b(50[0-9]|429)\b|UNAVAILABLE|/v1/|/s3/|(ais|s3)://|:5108\d\b'), false) and not is_cut_answer and not is_refused and fault_count = 0 and coalesce(stray_count, 0) = 0 and remark_node_id is null then case when open_node_id is not null then 'batch_left_open' when regexp_matches(crash_pattern, 'read_timeout$|^storage_timeout$') then 'no_answer' when is_storage_cleared then 'storage_logs_quiet' else 'storage_logs_unwatched' end
            when is_storage_seen then 'storage_logs_show_nothing'
            when covered_count > 0 then 'storage_logs_partial'
            else 'client_side_only'
        end as kind
    from judged
)
select
    failure_id, 'storage_unlinked' as finding,
    case when (crash_class = 'storage_io' or (crash_class = 'network' and is_unanswered)) and not is_tied and failure_id not in (select failure_id from bucket_change) then 'fired' else 'quiet' end as state,
    case when kind in ('foreign_service', 'storage_logs_quiet') then 'network' when kind = 'file_system' then 'infrastructure' else 'storage_io' end as failure_class,
    kind as failure_kind,
    case when kind in ('node_gone', 'server_said', 'target_unanswered', 'answers_cut') then 'guilty' when kind in ('foreign_service', 'storage_logs_quiet') or (kind = 'file_system' and is_storage_cleared) then 'innocent' else 'undetermined' end as storage_verdict,
    case when kind = 'node_gone' then request_node_id when is_server_word and not is_foreign and crash_pattern <> 'sdk_entry_timeout' then crash_node_id end as node_id,
    culprit_rank as rank, null::varchar as chain_id,
    case kind when 'answers_cut' then 0.66 when 'foreign_service' then 0.75 when 'file_system' then 0.75 when 'node_gone' then 0.75 when 'storage_logs_quiet' then 0.6 when 'storage_logs_end_early' then 0.6 when 'batch_left_open' then 0.6 when 'no_answer' then 0.6 when 'storage_logs_unwatched' then 0.6 when 'storage_logs_show_nothing' then 0.6 else 0.72 end as score,
    culprit_words || ' failed with ' || coalesce(exception, case when crash_pattern in ('storage_given_up', 'mountpoint_s3_failed') then '"' || substr(coalesce(crash_message, crash_text), 1, 120) || '"' end, crash_pattern) || case kind
        when 'foreign_service' then ' while talking to another service, not AIStore'
        when 'file_system' then case when frame_kind = 'checkpoint' then ' in its checkpoint,' else '' end || ' on a mounted file system and not in AIStore'
        when 'node_gone' then ' because AIStore node ' || request_node_id || ' refused the connection; its log goes no further, while those of its peers do'
        when 'target_unanswered' then ': one target of AIStore, which is not known by its address, answered none of its requests'
        when 'storage_logs_end_early' then ' while reading from storage; the AIStore logs at hand end before a fault would have been noticed'
        when 'storage_logs_quiet' then ' while reading from storage; the AIStore logs at hand show no fault at that moment'
        when 'batch_left_open' then ' while reading from storage; target ' || open_node_id || ' of AIStore was still at a batch when its client gave up, and no log at hand tells what held it up'
        when 'no_answer' then ' while reading from storage; its request was taken and not answered in time, of which the AIStore logs at hand say nothing'
        when 'answers_cut' then ': AIStore began ' || cut_count::varchar || ' answers one after the other and closed each in the middle, and no log at hand tells why'
        when 'server_said' then ' while reading from storage; AIStore''s own answer ' || coalesce('puts the fault on its node ' || case when crash_pattern <> 'sdk_entry_timeout' then crash_node_id end, 'shows that the fault is its')
        when 'storage_logs_unwatched' then ' while reading from storage; the AIStore logs at hand show no fault at that moment, but no proxy''s is among them'
        when 'storage_logs_show_nothing' then ' while reading from storage; ' || coalesce('AIStore node ' || remark_node_id || ' printed an error about ' || remark_name, 'AIStore node ' || link_node_id || ' ' || broke_words || ' then, but nothing ties the error to it', 'the AIStore logs at hand show no fault at that moment')
        when 'storage_logs_partial' then ' while reading from storage; ' || coalesce('AIStore node ' || link_node_id || ' ' || broke_words || ' then, but ', 'no fault of AIStore is seen at that moment, but ')
            || case when is_cluster_sure then 'only ' || covered_count::varchar || ' of ' || node_total::varchar || ' logs of AIStore cover it' else 'nothing proves that the job used the cluster whose logs are at hand' end || ', so it stays open whose fault that was'
        else ' while reading from storage; no AIStore log at hand covers that moment, so it stays open whose fault that was'
    end as statement,
    [
        {'file_id': crash_file_id, 'line_no': crash_line_no, 'why': 'the error of ' || culprit_words},
        {'file_id': request_file_id, 'line_no': request_line_no, 'why': 'what it met at the storage before'}, {'file_id': case when kind = 'answers_cut' then cut_file_id end, 'line_no': cut_line_no, 'why': 'the first answer that broke off'}, {'file_id': case when kind = 'batch_left_open' then open_file_id end, 'line_no': open_line_no, 'why': 'a batch whose client was gone before it was done'}, {'file_id': remark_file_id, 'line_no': remark_line_no, 'why': 'what AIStore node ' || remark_node_id || ' says of ' || remark_name},
        {'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'why ' || culprit_words || ': ' || basis_words}
    ] as supports,
    [] as contradicts
from judgement
where crash_pattern is not null
