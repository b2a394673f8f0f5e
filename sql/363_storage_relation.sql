-- How much a culprit's trouble has to do with storage at all, before any node is looked at; whether
-- it speaks of another service than AIStore, and whether that one keeps objects.
-- grain: one row a culprit of a failure
-- reads: culprit_cause, failure_case, failure_coverage, job, job_cluster, last_step,
-- reads: node_endpoint, public_service, rank_request, object_owner, worker_tail, worker_file,
-- reads: threshold, relation_kind
-- case: yes
-- note: asked_of is the first address, or the whole line, of what broke off before the error
-- note: (failed_fetch), but for lines in which AIStore tells of its backend. A proxy puts its own
-- note: id (pid, AIStore 3.30 to 5.0) behind an address to which it sends a client, which then did
-- note: not choose it. missed_ns: when ranks had been told of two objects that do not exist, where
-- note: the error is about one. is_file_write: a checkpoint goes to a path of a file system, as the
-- note: words of the rank say, or the last words of any that name a place, since one names it for
-- note: all.
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
    from worker_tail as t join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint'
    group by all
    having not bool_or(regexp_matches(t.text, '(ais|s3|gs|msc)://|https?://|/v1/objects'))
        and arg_max(not contains(t.text, '/s3/'), (coalesce(t.local_ns, 0), t.file_id, t.line_no))
            filter (where regexp_matches(t.text, '/s3/|(^|[ =''"])/[A-Za-z][\w.-]*/'))
),
service as (
    select string_agg(host_pattern, '|') as hosts,
        string_agg(host_pattern, '|') filter (where is_store) as stores
    from public_service
),
network as (
    select
        f.failure_id,
        list(distinct regexp_extract(e.endpoint, '^[0-9]+\.[0-9]+\.'))
            filter (where e.endpoint is not null) as networks,
        coalesce(bool_or(regexp_matches(e.endpoint, '^(localhost|127\.)')), false)
            or coalesce(any_value(regexp_matches(j.data_source, 'localhost|127\.|::1')), false)
                as is_local,
        coalesce(any_value(regexp_matches(j.data_source, 'via \S+:\d')), false)
            or (coalesce(any_value(v.is_watched and v.covered_ratio = 1.0
                    and v.gone_count + v.soon_count + v.stray_count = 0), false)
                and bool_and(s.job_id is null)) as is_elsewhere
    from failure_case as f
    left join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    left join node_endpoint as e on e.cluster = c.cluster
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    left join failure_coverage as v on v.failure_id = f.failure_id
    left join last_step as s on s.job_id = f.job_id and s.attempt = f.attempt
    group by f.failure_id
),
asked as (
    select u.*, f.stall_ns,
        u.request_pattern is not distinct from 'fetch_broken' as is_broken_off,
        if(is_broken_off
            and not regexp_matches(u.request_text, '\b(aws|gcp|azure|oci)-error\['),
            coalesce(nullif(regexp_extract(u.request_text, 'https?://[^\s"'']+'), ''),
                u.request_text), '') as asked_of,
        coalesce(is_broken_off and u.request_node_id is null
            and regexp_matches(u.request_text, 'ReadFileHandle|vfs cache')
            and not regexp_matches(u.request_text,
                '://[^/\s"'']+/(s3|v1/objects)/|:5108\d\b|\b(aws|gcp|azure|oci)-error\[|/@ais/'
                    '|/%ob/'), false) as is_any_mount
    from culprit_cause as u
    join failure_case as f on f.failure_id = u.failure_id
),
named as (
    select *,
        crash_text || ' ' || coalesce(crash_message, '') || ' ' || asked_of as words,
        coalesce(nullif(regexp_extract(coalesce(endpoint, ''), '^(.*):', 1), ''),
            regexp_extract(asked_of, '://([^/:?]+)', 1)) as host,
        crash_pattern in ('cloud_store_failed', 'tf_request_failed')
            or (starts_with(crash_pattern, 'tensorstore_') and contains(crash_text, 'gs://'))
            or regexp_matches(crash_text,
                'google\.(api_core|auth)\.|azure\.core\.|gcsfs\.'
                    '|Generic (GCS|MicrosoftAzure) error')
            or (not contains(words, '/v1/') and coalesce(frame_kind, '') = 'hub_wait')
            or starts_with(crash_pattern, 'hf_') as is_store_client,
        crash_pattern is null
            or crash_pattern in ('s3_ais_failed', 'sdk_backend_failed', 'sdk_download_failed')
            or (starts_with(crash_pattern, 'sdk_') and contains(crash_text, 'STATUS:'))
            or regexp_matches(crash_text, '/@[a-z]+/[^\s:]+/%[a-z]{2}/') as is_own_answer
    from asked
),
judged as (
    select u.*, m.missed_ns,
        coalesce(regexp_matches(u.host, '^(localhost|127\.[0-9.]+|\[?::1\]?)$') and not w.is_local
            and not regexp_matches(u.words, '[?&]pid=') and w.is_elsewhere, false) as is_own_host,
        not u.is_own_answer and coalesce(
            u.is_store_client
            or (coalesce(u.frame_kind, '') in ('log_upload', 'another_service')
                and not contains(u.words, '/v1/'))
            or regexp_matches(u.words, '(with url: |https?://[^/\s]+)/api/')
            or regexp_matches(u.words, '(?i)(?:' || s.hosts || '|arn:aws:)')
            or (regexp_matches(u.host, '^[0-9.]+$') and not contains(u.words, '/v1/')
                and not list_contains(w.networks, regexp_extract(u.host, '^[0-9]+\.[0-9]+\.'))),
            false) as is_foreign,
        is_foreign and coalesce(u.is_store_client
            or regexp_matches(u.words, '(?i)(?:' || s.stores || ')'), false) as is_other_store,
        u.request_outcome = 'retry'
            and u.request_from_ns < u.stall_ns - p.value * 1000000000 as is_outlived,
        u.crash_class in ('storage_io', 'data_loading_stall')
            and (not regexp_matches(u.crash_pattern, '^(fs_|checkpoint_save_failed)')
                or u.is_broken_off) as is_storage_error,
        u.crash_class = 'data_loading_stall'
            and coalesce(u.request_pattern = u.crash_pattern, true) as is_stalled,
        u.crash_class = 'network'
            and not regexp_matches(u.crash_pattern,
                '^(nccl|gloo|c10d|tcpstore|ucc|ucx|ib_|process_group|http_no_local_port'
                    '|http_no_buffer_space)') as is_path_error,
        u.crash_class = 'data'
            and u.crash_content is not null
            and not contains(u.crash_pattern, 'bucket')
            and not regexp_matches(coalesce(u.crash_text, ''), 'No such file or directory: ''?/')
                as is_lack,
        is_own_host or u.crash_pattern = 'sample_unfit'
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
                        '|sav(e|ing|ed)|upload(ing)?)\b')) as is_write,
        regexp_matches(u.crash_text || coalesce(u.crash_message, ''),
            '(?i)empty reply from server|exit 52\b|without (sending a )?response'
                '|RemoteDisconnected|server disconnected|ConnectionResetError|reset by peer')
            as is_dropped,
        (starts_with(u.crash_pattern, 'storage_') or (u.crash_pattern = 'hdf5_fetch_failed'
                and not exists (from rank_request as q
                    where q.failure_id = u.failure_id and q.rank <> u.witness_rank
                        and q.node_id is not null and q.outcome in ('error', 'retry')
                        and abs(q.from_ns - u.crash_ns) <= t.value * 1e9)))
            and coalesce(u.endpoint, u.bucket, u.object, u.wid, u.crash_node_id) is null
                as is_vague,
        u.crash_pattern <> 'sdk_download_failed'
            and regexp_matches(u.crash_text || ' ' || u.asked_of,
                'https?://[A-Za-z][\w.-]*(:\d+)?/')
            and not regexp_matches(u.words,
                '(?i)/v1/|/s3/|://[\w.-]*(ais|s3)|endpoint URL|(ais|s3|gs|msc)://')
                or (u.crash_pattern is null and u.activity = 'storage_wait'
                    and not regexp_matches(
                        regexp_extract(u.activity_text,
                            'after connection broken by [^\r\n]*: (/\S+)', 1),
                        '^$|(?i)^(/[\w.-]+)?/(v1|s3)/|(ais|s3|gs|msc)://'))
                    as is_elsewhere,
        u.activity = 'checkpoint'
            and not regexp_matches(coalesce(u.activity_text, ''),
                'ais://|s3://|gs://|https?://|/v1/objects')
            and (k.job_id is not null
                or regexp_matches(coalesce(u.activity_text, ''), '(^|[ =''"])/[A-Za-z][\w.-]*/'))
                as is_file_write
    from named as u
    join network as w on w.failure_id = u.failure_id
    cross join service as s
    join threshold as p on p.name = 'request_pending_s'
    join threshold as t on t.name = 'same_cause_s'
    left join missed as m on m.failure_id = u.failure_id
    left join to_path as k on k.job_id = u.job_id and k.attempt = u.attempt
)
select
    j.failure_id, j.rank, j.is_foreign,
    j.is_own_host and j.rank is not distinct from j.witness_rank as is_own_host,
    j.is_other_store and j.rank is not distinct from j.witness_rank as is_other_store,
    k.relation, k.chain_weight, k.time_weight, k.stale_weight,
    j.crash_pattern is null and j.activity not in ('storage_wait') as is_silent,
    j.crash_pattern is not null as has_error,
    j.is_lack and j.crash_content = 'absent' as is_absence,
    case when j.is_lack then j.missed_ns end as missed_ns,
    case when is_absence then o.node_id end as owner_id,
    case when is_absence then o.is_away end as is_owner_away,
    is_absence and (j.failure_id, j.witness_rank) in (select (q.failure_id, q.rank)
        from object_owner as p join rank_request as q using (failure_id, object)
        where not p.is_away and not q.is_got_over) as is_misnamed,
    coalesce(j.is_dropped, false) as is_dropped, j.is_write,
    coalesce(j.is_file_write, false) as is_file_write
from judged as j
left join object_owner as o on o.failure_id = j.failure_id and o.object = j.object
    and contains(concat_ws(' ', j.bucket, j.crash_text), o.bucket)
join relation_kind as k on k.relation = case
    when j.is_foreign then 'foreign'
    when j.crash_pattern is not null then case
        when j.is_own then 'own'
        when j.is_elsewhere or j.is_any_mount then 'elsewhere'
        when j.request_pattern is not distinct from 'mountpoint_s3_failed' then 'mounted_bucket'
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
    when j.activity = 'unknown' and j.is_own_code then 'own_code'
    when j.activity in ('unknown', 'step', 'epoch_end', 'initialisation') then case
        when j.request_outcome is null then 'silent' when j.is_outlived then 'outlived'
        else 'asked' end
    when j.activity in ('checkpoint', 'evaluation') and not coalesce(j.is_file_write, false)
        then 'checkpoint'
    else 'other' end
