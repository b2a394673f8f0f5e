-- What there is to judge a rank's error of storage by where no fault of a node explains it: the
-- server's own words, how answers ended, what the logs cover.
-- grain: one row a failure with an error
-- reads: failure_case, failure_coverage, culprit_cause, rank_request, storage_relation,
-- reads: unanswered_node, storage_remark, node, node_coverage, job, ais_event, threshold
-- case: yes
-- note: What the server itself says in the error (a refused node, out of space, a rejected request)
-- note: is believed, and so is that a node of AIStore got no answer from the one it names; a reset,
-- note: a time-out or a bare status is not proof of whose fault it was; a read time-out says that
-- note: the request was taken, so quiet logs do not acquit; nor does a node whose address refused,
-- note: as its log shows no connection that did not come (a target was gone if its log goes no
-- note: further: clients come to it by a proxy's redirect alone); nor are they quiet where a node
-- note: complains of what the error names. A batch that misses an object comes short
-- note: and names none, so objects deleted from the job's bucket since it began may be why. A
-- note: configuration that was changed within fault_bite_s before the error leaves no fault in the
-- note: logs either.
create or replace view unlinked_error as
with node_end as (
    select cluster, node_id, max(ended_ns) as ended_ns from node_coverage group by cluster, node_id
),
deleted as (
    select f.failure_id, e.bucket, e.utc_ns, e.file_id, e.line_no
    from failure_case as f
    join failure_coverage as v on v.failure_id = f.failure_id
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join ais_event as e on e.cluster = v.cluster and e.pattern = 'ais_objects_deleted'
        and contains(e.message, 'x-delete-')
        and e.utc_ns between f.started_ns and f.crash_latest_ns
        and regexp_matches(j.data_source,
            '(^|[^\w./:-])' || regexp_escape(e.bucket) || '($|[^\w.-])')
    qualify row_number()
        over (partition by f.failure_id order by e.utc_ns, e.file_id, e.line_no) = 1
),
reconfigured as (
    select f.failure_id, e.utc_ns, e.file_id, e.line_no
    from failure_case as f
    join failure_coverage as v on v.failure_id = f.failure_id
    join threshold as t on t.name = 'fault_bite_s'
    join ais_event as e on e.cluster = v.cluster and e.pattern = 'ais_config_changed'
        and e.utc_ns between f.crash_ns - t.value::bigint * 1000000000 and f.crash_latest_ns
    qualify row_number()
        over (partition by f.failure_id order by e.utc_ns, e.file_id, e.line_no) = 1
),
refusal as (
    select failure_id, any_value(node_id) as node_id from rank_request
    where node_id is not null and outcome in ('retry', 'error') and not is_got_over
        and regexp_matches(message, '(?i)connection refused')
    group by failure_id having count(distinct node_id) = 1
),
judged as (
    select
        f.failure_id, u.crash_pattern, u.crash_text, u.crash_node_id, u.status_code,
        u.request_node_id, v.is_storage_seen, v.is_storage_cleared, v.is_followed, v.fault_count,
        v.stray_count, v.covered_count, v.blind_target_count,
        m.node_id as remark_node_id, m.name as remark_name, m.file_id as remark_file_id,
        m.line_no as remark_line_no,
        q.failure_id is not null as is_unanswered,
        coalesce(r.is_foreign, false) as is_foreign, coalesce(r.is_own_host, false) as is_own_host,
        coalesce(r.is_other_store and not v.is_cluster_sure, false) as is_jobs_store,
        regexp_matches(u.crash_pattern, '^(fs_|checkpoint_save_failed)') and y.rank is null
            and m.failure_id is null as is_file_system,
        (u.crash_pattern like '%connection_refused%' or coalesce(
                u.request_pattern = 'fetch_broken' and contains(u.request_text, 'curl: (7) '),
                false))
            and n.node_id is not null as is_refused,
        n.node_id as refusing_node_id,
        is_refused and o.ended_ns <= u.crash_latest_ns + 5000000000
            and (v.is_storage_cleared or n.role = 'target' and u.status_code is null
                and u.crash_node_id is null)
            as is_gone,
        regexp_matches(u.crash_pattern,
            'sdk_(backend_failed|backend_bucket_gone|bad_checksum|cold_get_disabled|disk_error'
                '|job_refused|keys_unavailable|mountpath_gone|node_failed_inside|restore_failed'
                '|connection_refused|deadline_exceeded|out_of_space|rejected|entry_timeout'
                '|entry_network_error|no_target|not_ready|server_error)|http_throttled'
                '|http_retried_status|http_server_error|s3_ais_failed|s3_out_of_space|s3_slow_down'
                '|s3_server_error|store_quota_exceeded')
            as is_server_word,
        regexp_matches(u.crash_pattern, 'short|truncated|stream|resume|metadata|multipart|extract')
            or coalesce(u.request_pattern = 'fetch_broken', false) as is_cut_answer,
        d.bucket as deleted_bucket, d.utc_ns as deleted_ns, d.file_id as deleted_file_id,
        d.line_no as deleted_line_no,
        g.utc_ns as changed_ns, g.file_id as changed_file_id, g.line_no as changed_line_no,
        u.crash_pattern
            in ('http_server_error', 's3_ais_failed', 's3_out_of_space', 's3_server_error',
                'http_retried_status', 'http_throttled')
            as is_status,
        (u.crash_pattern
            in ('sdk_server_error', 'sdk_backend_failed', 'sdk_backend_bucket_gone',
                'sdk_bad_checksum', 'sdk_job_refused', 'sdk_cold_get_disabled', 'sdk_disk_error',
                'sdk_entry_timeout', 'sdk_keys_unavailable', 'sdk_mountpath_gone',
                'sdk_node_failed_inside', 'sdk_restore_failed', 's3_ais_failed')
                or (u.crash_pattern in ('sdk_deadline_exceeded', 'sdk_connection_refused')
                    and regexp_matches(u.crash_text, '[?&]tid=' || u.crash_node_id))
                or (u.crash_pattern like '%out_of_space'
                    and contains(u.crash_text || coalesce(u.crash_message, ''),
                        'of total capacity on at least one of the mountpaths'))
                or (is_status
                    and (u.request_node_id is not null
                        or regexp_matches(u.crash_text, '/v1/|:\d+/s3/'))))
            and not regexp_matches(u.crash_text || coalesce(u.crash_message, ''),
                '(?i)\betl(_name)?\b|ErrETL')
                as is_own_failure
    from failure_case as f
    join failure_coverage as v on v.failure_id = f.failure_id
    join culprit_cause as u on u.failure_id = f.failure_id and u.culprit_no = 1
        and u.crash_pattern is not null
    left join storage_relation as r on r.failure_id = f.failure_id
        and r.rank is not distinct from u.rank
    left join (select distinct failure_id, rank from rank_request
        where pattern in ('fetch_broken', 'mountpoint_s3_failed'))
        as y
        on y.failure_id = f.failure_id
        and y.rank = u.rank
    left join storage_remark as m on m.failure_id = f.failure_id
    left join unanswered_node as q on q.failure_id = f.failure_id and q.rank = u.rank
    left join deleted as d on d.failure_id = f.failure_id
        and (u.received_count < u.expected_count
            or regexp_matches(u.crash_text,
                '\b\d+ of \d+ (?:objects|entries|items|members|samples|files|records|cuts)\b'))
    left join reconfigured as g on g.failure_id = f.failure_id
    left join refusal as z on z.failure_id = f.failure_id
    left join node as n on n.cluster = v.cluster
        and n.node_id = coalesce(u.request_node_id, z.node_id)
    left join node_end as o on o.cluster = n.cluster and o.node_id = n.node_id
),
told as (
    select
        *,
        -- the logs cover the moment, and a fault of AIStore would have left a trace of it
        not is_server_word and status_code is null and not is_cut_answer and not is_refused
            and fault_count = 0 and coalesce(stray_count, 0) = 0 and remark_node_id is null
            and crash_pattern not
                in ('sdk_status_error', 'http_ais_bad_request', 'data_pipe_failed',
                    'hdf5_fetch_failed', 'storage_client_error', 'storage_answer_unreadable',
                    'storage_checksum_mismatch', 'http_checksum_mismatch', 'storage_read_failed')
            and not coalesce(crash_pattern = 'storage_transfer_failed'
                and regexp_matches(crash_text,
                    '\b(50[0-9]|429)\b|UNAVAILABLE|/v1/|/s3/|(ais|s3)://|:5108\d\b'),
                false)
                as is_traceable
    from judged
)
select
    failure_id,
    case
        when is_foreign then 'foreign_service'
        when is_own_host then 'own_host'
        when is_file_system then 'file_system'
        when is_gone then 'node_gone'
        when is_unanswered and is_storage_seen then 'target_unanswered'
        when crash_pattern
            in ('http_certificate_expired', 'http_certificate_mismatch',
                'http_target_certificate_untrusted')
            and coalesce(request_node_id is not null
                or regexp_matches(crash_text, '/v1/|:5108\d/s3/'), false)
                then 'server_said'
        when (crash_node_id is not null or is_status) and is_server_word
            and (crash_node_id is not null and not is_storage_seen or is_own_failure)
                then 'server_said'
        when is_storage_seen and fault_count = 0 and coalesce(stray_count, 0) = 0
            and deleted_bucket is not null then 'objects_deleted'
        when is_storage_seen and fault_count = 0 and coalesce(stray_count, 0) = 0
            and not is_followed then 'storage_logs_end_early'
        when is_storage_seen and is_refused and fault_count = 0
            and remark_node_id is null then 'node_refused'
        when is_storage_seen and is_traceable and changed_ns is not null then 'reconfigured'
        when is_storage_seen and is_traceable
            and regexp_matches(crash_pattern, 'read_timeout$|^storage_timeout$') then 'no_answer'
        when is_storage_seen and is_traceable and is_storage_cleared then 'storage_logs_quiet'
        when is_storage_seen and is_traceable and blind_target_count > 0
            then 'storage_logs_partial'
        when is_storage_seen and is_traceable then 'storage_logs_unwatched'
        when is_storage_seen then 'storage_logs_show_nothing'
        when covered_count > 0 then 'storage_logs_partial'
        else 'client_side_only'
    end as kind,
    is_unanswered, is_server_word, is_foreign, is_jobs_store, refusing_node_id,
    remark_node_id, remark_name, remark_file_id, remark_line_no,
    deleted_bucket, deleted_ns, deleted_file_id, deleted_line_no,
    changed_ns, changed_file_id, changed_line_no
from told
