-- The rank's own error speaks of storage, but AIStore's logs are missing or show no trouble of a
-- node that fits: it stays open, or somebody changed the bucket that the job was reading.
-- grain: one row a failure and rule: storage_unlinked, bucket_changed
-- reads: failure_lead, unlinked_error, bucket_change, fault_kind
-- case: yes
-- note: What is judged by is said in unlinked_error. Another store of objects than AIStore is the
-- note: job's own where nothing shows that the job reads from AIStore, and so is a file system. It
-- note: stands wherever finding_storage_error does not, so that logs of some nodes never hide the
-- note: rank's own error. An answer about what one node had from another says of neither that it
-- note: was the one. Where a bucket was changed, the client asked as it had asked before, and
-- note: AIStore's answer is true to the new state: whoever runs the storage changed it under a job,
-- note: and no node is to blame.
create or replace view finding_storage_unlinked as
select
    f.failure_id, 'storage_unlinked' as finding,
    case when case f.crash_class when 'storage_io' then not f.is_tied
            when 'network' then u.is_unanswered
                and not (f.is_tied and f.link_kind not in ('fault_time', 'chain_time')) end
        and f.failure_id not in (select failure_id from bucket_change where is_proven) then 'fired'
        else 'quiet' end
        as state,
    case
        when u.is_jobs_store and (f.status_code >= 500 or u.is_server_word) then 'storage_io'
        when u.kind in ('foreign_service', 'storage_logs_quiet') then 'network'
            when u.kind = 'objects_deleted' then 'data'
            when u.kind = 'file_system' and f.is_cluster_sure then 'infrastructure'
            when u.kind = 'own_host' then 'software' else 'storage_io' end as failure_class,
    u.kind as failure_kind,
    case when u.kind in ('node_gone', 'server_said', 'target_unanswered') then 'guilty'
        when u.kind in ('foreign_service', 'own_host', 'storage_logs_quiet')
        or (u.kind = 'file_system' and f.is_storage_cleared)
            then if(u.is_jobs_store, 'undetermined', 'innocent')
        else 'undetermined' end
        as storage_verdict,
    case when u.kind = 'node_gone' then u.refusing_node_id
        when u.is_server_word and not u.is_foreign and p.peer_id is null
        and f.crash_pattern <> 'sdk_entry_timeout' then f.crash_node_id end
        as node_id,
    f.culprit_rank as rank,
    f.culprits_words || ' failed with '
        || coalesce(f.exception,
            '"' || substr(coalesce(f.crash_message, f.crash_text), 1, 120) || '"', f.crash_pattern)
        || replace(case u.kind
        when 'foreign_service' then ' while talking to another service, not AIStore'
        when 'own_host'
            then ' while asking its own host for AIStore, none of whose daemons is there'
        when 'file_system'
            then case when f.frame_kind = 'checkpoint'
                or f.crash_pattern = 'checkpoint_save_failed' then ' in its checkpoint,' else '' end
            || ' on a mounted file system and not in AIStore'
        when 'node_gone' then ' because AIStore node ' || u.refusing_node_id
            || ' refused the connection; its log goes no further, '
            || if(f.is_storage_cleared, 'while those of its peers do',
                'and a proxy had just sent the request there')
        when 'node_refused'
            then ' while reading from storage: the address of AIStore node ' || u.refusing_node_id
                || ' refused connections, and its log shows no fault'
        when 'target_unanswered'
            then ': one target of AIStore, which is not known by its address, answered none of its '
                'requests'
        when 'objects_deleted'
            then ' while reading from storage, after objects of ' || u.deleted_bucket
                || ' had been deleted at '
                || strftime(make_timestamp_ns(u.deleted_ns)::timestamp, '%H:%M:%S')
                || ' UTC; no line says whether it asked for one of them'
        when 'reconfigured'
            then ' while reading from storage, after the configuration of AIStore had been changed '
                'at ' || strftime(make_timestamp_ns(u.changed_ns)::timestamp, '%H:%M:%S') || ' UTC'
        when 'storage_logs_end_early' then ' while reading from storage; '
            || coalesce(b.words, 'the AIStore logs end too soon after it to show that a node went')
        when 'storage_logs_quiet'
            then ' while reading from storage; the AIStore logs show no fault at that '
                'moment'
        when 'no_answer'
            then ' while reading from storage; its request was taken and not answered in time, of '
                'which the AIStore logs say nothing'
        when 'server_said' then ' while reading from storage; '
            || coalesce('AIStore''s own answer puts the fault ' || coalesce(
                    'between its nodes ' || f.crash_node_id || ' and ' || p.peer_id,
                    'on its node '
                    || case when f.crash_pattern <> 'sdk_entry_timeout' then f.crash_node_id end),
                'the error is one of the server that it asked'
                || coalesce(' (status ' || f.status_code::varchar || ')', ''))
        when 'storage_logs_unwatched'
            then ' while reading from storage; the AIStore logs show no fault at that '
                'moment, but no proxy''s is among them'
        when 'storage_logs_show_nothing' then ' while reading from storage; '
            || coalesce('AIStore node ' || u.remark_node_id || ' printed an error about '
                || u.remark_name,
                b.words,
                'the AIStore logs show no fault at that moment, but none of '
                    || array_to_string(f.uncovered_ids, ', ') || ' is among them',
                'the AIStore logs show no fault at that moment')
        when 'storage_logs_partial' then ' while reading from storage; '
            || coalesce('AIStore node ' || f.link_node_id || ' ' || k.broke_words || ' then, but ',
                'no fault of AIStore is seen at that moment, but ')
            || case
                when f.is_cluster_sure then 'only ' || f.covered_count::varchar || ' of '
                    || f.node_total::varchar || ' logs of AIStore cover it'
                else 'nothing proves that the job used the cluster whose logs are available' end
                || ', so it stays open whose fault that was'
        else ' while reading from storage; no AIStore log covers that moment, so it stays '
            'open whose fault that was'
    end, ' while reading from ',
    if(
        regexp_matches(coalesce(f.crash_text, ''),
            'S3UploadFailedError|\b(UploadPart|PutObject|CreateMultipartUpload'
                '|CompleteMultipartUpload) operation|"method":"PUT"'),
        ' while writing to ', ' while reading from '))
        as statement,
    [
        {'term': 'error', 'file_id': f.crash_file_id, 'line_no': f.crash_line_no,
        'why': 'the error of ' || f.culprit_words},
        {'term': case
            when u.kind in ('foreign_service', 'own_host', 'file_system', 'node_gone',
                'node_refused')
                then 'known_place'
            when u.kind in ('storage_logs_quiet', 'storage_logs_end_early', 'no_answer',
                'storage_logs_unwatched', 'storage_logs_show_nothing', 'objects_deleted',
                'reconfigured')
                then 'nothing_shown' end},
        {'file_id': f.request_file_id, 'line_no': f.request_line_no,
        'why': 'what it met at the storage before'},
        {'file_id': u.deleted_file_id, 'line_no': u.deleted_line_no,
        'why': 'who deleted objects of ' || u.deleted_bucket},
        {'file_id': if(u.kind = 'reconfigured', u.changed_file_id, null),
        'line_no': u.changed_line_no,
        'why': 'a change of its configuration'}, {'file_id': u.remark_file_id,
        'line_no': u.remark_line_no,
        'why': 'what AIStore node ' || u.remark_node_id || ' says of ' || u.remark_name},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
        'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports
from failure_lead as f
join unlinked_error as u on u.failure_id = f.failure_id
left join fault_kind as k on k.fault_kind = f.fault_kind and f.fault_count > 0
cross join lateral (
    select nullif(regexp_extract(f.crash_message, 'failed to receive \S+ from t\[(\w+)\]', 1), '')
        as peer_id
) as p
cross join lateral (
    select 'AIStore node ' || f.link_node_id || ' ' || coalesce(k.broke_words,
        if(f.link_kind = 'chain_time' and f.fault_kind is null, 'broke batches', null))
        || ' then, but nothing links the error to it' as words
) as b
union all by name
select
    f.failure_id,
    'bucket_changed' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    'bucket_changed' as failure_kind,
    'guilty' as storage_verdict,
    f.culprit_rank as rank,
    f.culprits_words || ' failed with ' || coalesce(f.exception, f.crash_pattern)
        || ' because a bucket of AIStore was changed while the job read from it ('
        || c.action || ' at ' || strftime(make_timestamp_ns(c.utc_ns)::timestamp, '%H:%M:%S')
            || ' UTC)' || case when c.line_count is null then ': ' || c.bucket
            else ': no request for ' || c.bucket || ' had failed before, and '
                || c.line_count::varchar || if(c.line_count = 1, ' has since', ' have since') end
            as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no,
        'why': 'the error of ' || f.culprit_words},
        {'term': 'change', 'file_id': c.file_id, 'line_no': c.line_no,
        'why': 'the change: ' || c.action},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
        'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports
from failure_lead as f
join bucket_change as c on c.failure_id = f.failure_id and c.is_proven
where f.crash_pattern is not null
