-- How much a culprit's trouble has to do with storage at all, before any node is looked at.
-- grain: one row a culprit of a failure
-- reads: culprit_cause, error_address, failure_case, rank_request, checkpoint_place, threshold
-- case: yes
-- note: missed_ns: when ranks had been told of two objects that do not exist, where the error is
-- note: about one.
create or replace view storage_relation as
with missed as (
    select failure_id, max(to_ns) as missed_ns
    from (select failure_id, object, min(to_ns) as to_ns from rank_request
        where outcome = 'missing' and object is not null group by failure_id, object
        qualify row_number() over (partition by failure_id order by min(to_ns), object) <= 2)
    group by failure_id having count(*) = 2
),
judged as (
    select u.failure_id, u.rank, coalesce(a.is_foreign, false) as is_foreign, u.crash_pattern,
        u.crash_class, u.activity,
        u.request_outcome is not null as has_request,
        u.request_outcome = 'retry'
            and u.request_from_ns < f.stall_ns - p.value * 1000000000 as is_outlived,
        u.crash_class in ('storage_io', 'data_loading_stall')
            and (not starts_with(u.crash_pattern, 'fs_')
                or u.request_pattern is not distinct from 'fetch_broken')
                as is_storage_error,
        u.crash_class = 'data_loading_stall'
            and coalesce(u.request_pattern = u.crash_pattern, true) as is_stalled,
        u.crash_class = 'network'
            and not regexp_matches(u.crash_pattern,
                '^(nccl|gloo|c10d|tcpstore|ucc|ucx|ib_|process_group|http_no_local_port'
                    '|http_no_buffer_space)')
                as is_path_error,
        u.crash_class = 'data'
            and regexp_matches(u.crash_pattern,
                'missing|not_found|truncated|short|stop_iteration|entry')
            and not contains(u.crash_pattern, 'bucket')
            and not regexp_matches(coalesce(u.crash_text, ''), 'No such file or directory: ''?/')
                as is_lack,
        coalesce(a.is_own_host, false) or u.crash_pattern = 'sample_unfit'
            or regexp_matches(u.crash_pattern,
                '(access_denied|credential_invalid|no_local_port|no_buffer_space|request_rejected'
                    '|misused|proxy_failed|bucket_not_found)$')
            or (u.crash_pattern = 'http_tls_failed'
                and regexp_matches(u.crash_text,
                    'CERTIFICATE_VERIFY_FAILED|WRONG_VERSION_NUMBER|SSL certificate problem'
                        '|ALERT_CERTIFICATE_(EXPIRED|REVOKED)|alert certificate (expired|revoked)'))
                as is_own,
        u.wid is not null or u.crash_node_id is not null or u.received_count is not null
            or coalesce(u.frame_kind, '') = 'storage'
            or coalesce(u.request_pattern in ('last_words', 'mountpoint_s3_failed'), false)
            or (u.crash_class = 'data' and u.object is not null) as is_named,
        coalesce(u.crash_pattern, '') like '%out_of_space%' or coalesce(u.status_code, 0) = 507
            or u.activity = 'checkpoint'
            or regexp_matches(coalesce(u.crash_text, ''),
                'S3UploadFailedError|\b(UploadPart|PutObject|CompleteMultipartUpload) operation'
                    '|disk quota exceeded|no space left on device')
            or (u.crash_pattern is null and u.activity = 'storage_wait'
                and regexp_matches(coalesce(u.activity_text, ''),
                    '(?i)STATUS:507|out of space|"method":"PUT"|\bPUT /|\b(writ(e|ing|ten)|sav(e'
                        '|ing|ed)|upload(ing)?)\b'))
                as is_write,
        regexp_matches(u.crash_text || coalesce(u.crash_message, ''),
            '(?i)empty reply from server|exit 52\b|without (sending a )?response'
                '|RemoteDisconnected|server disconnected')
            as is_dropped,
        (starts_with(u.crash_pattern, 'storage_') or (u.crash_pattern = 'hdf5_fetch_failed'
                and not exists (from rank_request as q
                    where q.failure_id = u.failure_id and q.rank <> u.witness_rank
                        and q.node_id is not null and q.outcome in ('error', 'retry')
                        and abs(q.from_ns - u.crash_ns) <= s.value * 1e9)))
            and coalesce(u.endpoint, u.bucket, u.object, u.wid, u.crash_node_id) is null
                as is_vague,
        u.crash_pattern <> 'sdk_download_failed'
            and regexp_matches(u.crash_text || ' ' || coalesce(a.asked_of, ''),
                'https?://[A-Za-z][\w.-]*(:\d+)?/')
            and not regexp_matches(u.crash_text || coalesce(u.crash_message, '') || ' '
                || coalesce(a.asked_of, ''),
                '(?i)/v1/|/s3/|://[\w.-]*(ais|s3)|endpoint URL|(ais|s3|gs|msc)://')
                or (u.crash_pattern is null and u.activity = 'storage_wait'
                    and not regexp_matches(
                        regexp_extract(u.activity_text,
                            'after connection broken by [^\r\n]*: (/\S+)', 1),
                        '^$|(?i)^(/[\w.-]+)?/(v1|s3)/|(ais|s3|gs|msc)://'))
                    as is_elsewhere,
        coalesce(u.request_pattern = 'mountpoint_s3_failed' or a.is_any_mount, false) as is_mounted,
        coalesce(a.is_any_mount, false) as is_any_mount,
        coalesce(u.crash_pattern is null and u.activity = 'unknown' and u.is_own_code, false)
            as is_own_code,
            m.missed_ns,
        u.activity = 'checkpoint'
            and not regexp_matches(coalesce(u.activity_text, ''),
                'ais://|s3://|gs://|https?://|/v1/objects')
            and (k.job_id is not null
                or regexp_matches(coalesce(u.activity_text, ''), '(^|[ =''"])/[A-Za-z][\w.-]*/'))
                as is_file_write
    from culprit_cause as u
    left join error_address as a on a.failure_id = u.failure_id
        and a.rank is not distinct from u.witness_rank
    join failure_case as f on f.failure_id = u.failure_id
        left join missed as m on m.failure_id = u.failure_id
    join threshold as p on p.name = 'request_pending_s'
        join threshold as s on s.name = 'same_cause_s'
    left join checkpoint_place as k on k.job_id = f.job_id and k.attempt = f.attempt
        and k.goes_to = 'path'
)
select
    failure_id, rank, is_foreign,
    case
        when is_foreign then 0.0
        when crash_pattern is not null
            then case when is_own then 0.1 when is_elsewhere or is_any_mount then 0.3
                when is_storage_error or is_path_error or is_lack or is_named then 1.0 else 0.1 end
        when activity in ('storage_wait', 'data_loading', 'worker_wait') then 1.0
        when activity = 'batch_preparation' then 0.9
        when is_own_code then 0.15
            when activity in ('unknown', 'step', 'epoch_end', 'initialisation')
                then case when not has_request then 0.0 when is_outlived then 0.5 else 1.0 end
        when activity in ('checkpoint', 'evaluation') then 0.25
        else 0.15
    end as chain_weight,
    case
        when is_foreign then 0.0
        when is_own then 0.1 when is_elsewhere or is_mounted then 0.3 when is_stalled then 0.64
            when is_storage_error
            and is_vague
                then case crash_pattern when 'storage_transfer_failed' then 0.62 else 0.68 end
        when is_storage_error then 0.8 when is_path_error then 0.6 when is_lack then 0.75
        when crash_pattern is not null then 0.1
        when activity = 'storage_wait' then 0.9
        when activity in ('data_loading', 'worker_wait', 'batch_preparation') then 0.78
        when activity in ('unknown', 'step', 'epoch_end', 'initialisation')
            and not is_own_code then 0.68
        when is_file_write then 0.15
        when activity in ('checkpoint', 'evaluation') then 0.4
        else 0.15
    end as time_weight,
    case
        when is_storage_error and not is_foreign and not is_mounted then 0.85
        when crash_pattern is not null then 0.2
            when activity in ('storage_wait', 'data_loading', 'worker_wait', 'batch_preparation')
                then 0.85
        when activity in ('unknown', 'step', 'epoch_end', 'initialisation')
            and not is_own_code then 0.66
        else 0.2
    end as stale_weight,
    crash_pattern is null and activity not in ('storage_wait') as is_silent,
    crash_pattern is not null as has_error,
    is_lack and regexp_matches(crash_pattern, 'missing|not_found|entry') as is_absence,
    case when is_lack then missed_ns end as missed_ns, coalesce(is_dropped, false) as is_dropped,
    is_write, coalesce(is_file_write, false) as is_file_write
from judged
