-- How much a culprit's trouble has to do with storage at all, before any node is looked at.
-- grain: one row a culprit of a failure
-- reads: culprit_cause, error_address, failure_case, rank_request, worker_tail, worker_file,
-- reads: threshold, relation_kind
-- case: yes
-- note: missed_ns: when ranks had been told of two objects that do not exist, where the error is
-- note: about one. is_file_write: a checkpoint goes to a path of a file system, as the words of the
-- note: rank say, or the last words of any that name a place, since one rank names it for all.
create or replace view storage_relation as
with missed as (
    select failure_id, max(to_ns) as missed_ns
    from (select failure_id, object, min(to_ns) as to_ns from rank_request
        where outcome = 'missing' and object is not null group by failure_id, object
        qualify row_number() over (partition by failure_id order by min(to_ns), object) <= 2)
    group by failure_id having count(*) = 2
),
to_path as (
    select w.job_id, w.path_attempt + t.attempt_no as attempt
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint'
    group by all
    having not bool_or(regexp_matches(t.text, '(ais|s3|gs|msc)://|https?://|/v1/objects'))
        and arg_max(not contains(t.text, '/s3/'), (coalesce(t.local_ns, 0), t.file_id, t.line_no))
            filter (where regexp_matches(t.text, '/s3/|(^|[ =''"])/[A-Za-z][\w.-]*/'))
),
judged as (
    select u.failure_id, u.rank, coalesce(a.is_foreign, false) as is_foreign, u.crash_pattern,
        u.crash_class, u.activity,
        u.request_outcome is not null as has_request,
        u.request_outcome = 'retry'
            and u.request_from_ns < f.stall_ns - p.value * 1000000000 as is_outlived,
        u.crash_class in ('storage_io', 'data_loading_stall')
            and (not regexp_matches(u.crash_pattern, '^(fs_|checkpoint_save_failed)')
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
                    '(?i)STATUS:507|out of space|"method":"PUT"|\bPUT (/|\w+://)|\b(writ(e|ing|ten)'
                        '|sav(e|ing|ed)|upload(ing)?)\b'))
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
    left join to_path as k on k.job_id = f.job_id and k.attempt = f.attempt
)
select
    j.failure_id, j.rank, j.is_foreign, k.relation, k.chain_weight, k.time_weight, k.stale_weight,
    j.crash_pattern is null and j.activity not in ('storage_wait') as is_silent,
    j.crash_pattern is not null as has_error,
    j.is_lack and regexp_matches(j.crash_pattern, 'missing|not_found|entry') as is_absence,
    case when j.is_lack then j.missed_ns end as missed_ns,
    coalesce(j.is_dropped, false) as is_dropped, j.is_write,
    coalesce(j.is_file_write, false) as is_file_write
from judged as j
join relation_kind as k on k.relation = case
    when j.is_foreign then 'foreign'
    when j.crash_pattern is not null then case
        when j.is_own then 'own'
        when j.is_elsewhere or j.is_any_mount then 'elsewhere'
        when j.is_mounted then 'mounted_bucket'
        when j.is_stalled and j.is_storage_error then 'stalled'
        when j.is_storage_error and j.is_vague then
            if(j.crash_pattern = 'storage_transfer_failed', 'vague_transfer', 'vague_error')
        when j.is_storage_error then 'storage_error'
        when j.is_path_error then 'path_error'
        when j.is_lack then 'lack'
        when j.is_named then 'named'
        else 'other_error' end
    when j.activity = 'storage_wait' then if(j.is_elsewhere, 'wait_elsewhere', 'storage_wait')
    when j.activity in ('data_loading', 'worker_wait', 'batch_preparation') then 'data_wait'
    when j.is_own_code then 'own_code'
    when j.activity in ('unknown', 'step', 'epoch_end', 'initialisation') then case
        when not j.has_request then 'silent' when j.is_outlived then 'outlived' else 'asked' end
    when j.activity in ('checkpoint', 'evaluation') and not coalesce(j.is_file_write, false)
        then 'checkpoint'
    else 'other' end
