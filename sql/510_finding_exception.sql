-- The rank died of its own program, its device, its host or the network: an exception or fatal line
-- that is not about data.
-- grain: one row a failure
-- reads: failure_lead, unanswered_node, node_endpoint, node_fault, fault_kind, storage_relation,
-- reads: storage_remark, sudden_fault, public_service, last_step, bucket_change,
-- reads: host_without_path, failure_signal
-- case: yes
-- note: A system error of NCCL, a worker of a loader or a pool that is gone, a node of Ray that is
-- note: not heard from, a store to which ranks did not come, a checkpoint that failed on some ranks
-- note: and an exception that hands over another's error do not say what failed.
create or replace view finding_exception as
with told as (
    select
        f.*, h.is_cut, h.is_many, h.is_lone, h.is_shared, w.node_id as remark_node_id,
        w.name as remark_name, w.file_id as remark_file_id, w.line_no as remark_line_no,
        d.node_id as sudden_node_id, k.broke_words as sudden_words, d.file_id as sudden_file_id,
        d.line_no as sudden_line_no,
        q.failure_id is not null as is_unanswered, b.says as change_says,
        b.file_id as change_file_id, b.line_no as change_line_no, b.is_proven as is_changed,
        exists (from storage_relation as r
            where r.failure_id = f.failure_id and r.rank is not distinct from f.culprit_rank
                and r.is_foreign)
            as is_foreign,
        coalesce(f.basis = 'named' and f.crash_pattern is null
            and f.alike_pattern = 'ddp_model_differs', false)
            as is_odd_one,
            coalesce(crash_class, case when culprit_count = 0 or is_odd_one then alike_class end)
                as class,
        coalesce(crash_pattern, alike_pattern) as cause_pattern,
            coalesce(cause_pattern = 'http_no_route'
                and regexp_matches(coalesce(crash_message, alike_message),
                    '(?i)network is unreachable'),
                false)
                as has_no_network,
        cause_pattern in ('python_exception', 'python_assertion') and regexp_matches(
            regexp_replace(
                coalesce(exception, alike_exception, '') || ': '
                    || coalesce(crash_message, alike_message),
                '(?i)\balready\b|\bready\b|\b(p?thread|spread)\w*'
                    '|https?://\S*(\bdocs?\b|pytorch\.org|/issues/)\S*',
                '', 'g'),
            '(?i)\b(\w*(OS|IO|EOF)Error\b|\w*(timeout|connection|incomplete|truncat|download'
                '|stream|transfer|socket|pipe|read|fetch|shard)\w*(error|exception)?\b|bytes?\b'
                '|wait(s|ed|ing)?\b|timed out|alive\b|heartbeats?\b|http\w*|ais://|s3://|gs://'
                '|/v1/|rsync|rclone|(fail(ed|ure)?|error|unable|cannot|can.t|could ?n[o.]t) (to )?'
                '(open|writ|sav|copy|mmap|creat|renam)\w*\b[^\r\n]*/)'
        ) as is_about_transfer,
        f.crash_class is null and exists (from failure_signal as s
            join failure_signal as a
                on a.file_id = s.file_id and a.block_line_no = s.block_line_no
            where a.file_id = f.alike_file_id and a.line_no = f.alike_line_no
                and s.signal = 'chained'
                and s.failure_class in ('storage_io', 'data_loading_stall', 'network'))
            as is_of_transfer,
        coalesce(cause_pattern = 'python_exception', false)
            and (
                regexp_matches(coalesce(crash_message, alike_message),
                    'ais://|/v1/(?:objects|buckets|ml/moss)/|://[\w.-]+:5108[0-9]\b'
                        '|\bport=5108[0-9]\b')
                or exists (from node_endpoint as e
                    where e.cluster = f.cluster
                        and contains(coalesce(f.crash_message, f.alike_message), e.endpoint)))
                as is_of_store,
        rtrim(coalesce(
            replace(nullif(regexp_extract(coalesce(crash_message, alike_message),
                '"message":"((?:[^"\\]|\\.)+)"', 1), ''), '\"', '"'),
            regexp_replace(coalesce(crash_message, alike_message, crash_pattern, alike_pattern),
                '^(.*\bNCCL WARN |[\w.]*' || coalesce(exception, alike_exception, 'Error') || ': )',
                '')), '. ') as cause_words,
        case when ends_with(cause_pattern, '_killed') then f.kill_doubt end as doubt,
        coalesce(regexp_matches(cause_pattern, '^(disk_full|fs_)'), false) as is_of_file_system,
        is_of_file_system
            and not regexp_matches(cause_words, '(?i)(^|[^\w.-])/(tmp|dev/shm|var|run)/')
            as is_of_mount,
        is_of_mount and not f.is_cluster_sure and regexp_matches(
            concat(frame_kind, '; ', cause_words), '(?i)checkpoint|ckpt|\bsav(e|ing)\b|\.pth?\b')
            as is_a_save,
        coalesce(exception, alike_exception) as cause_exception,
        coalesce(cause_pattern = 'sdk_request_rejected'
            and contains(coalesce(crash_message, alike_message), 'STATUS:416'), false)
            as is_beyond_end,
        coalesce(f.has_trained
            and regexp_matches(coalesce(f.crash_message, f.alike_message), '\bSTATUS:401\b')
            and not regexp_matches(coalesce(f.crash_message, f.alike_message),
                'no bearer|token (is )?expired'),
            false)
            as is_turned_down,
        (select min(n.node_id) from node_fault as n
            where n.cluster = f.cluster and n.fault_kind = 'goroutines'
                and starts_with(cause_pattern, 'http_')
                and n.started_ns <= coalesce(f.crash_latest_ns, f.stall_ns)
                and n.ended_ns >= f.stall_ns)
            as swamped_node_id,
        exists (from last_step as p where p.job_id = f.job_id and p.attempt = f.attempt)
            as has_stepped,
        exists (from public_service as s where (not s.is_store or f.is_cluster_sure)
            and regexp_matches(coalesce(f.crash_message, f.alike_message),
                '(?i)https?://[\w.-]*' || s.host_pattern))
                as is_of_public_service,
        coalesce(crash_file_id, alike_file_id) as cause_file_id,
            coalesce(crash_line_no, alike_line_no) as cause_line_no
    from failure_lead as f
    left join unanswered_node as q on q.failure_id = f.failure_id and q.rank = f.culprit_rank
    left join bucket_change as b on b.failure_id = f.failure_id
    left join host_without_path as h on h.failure_id = f.failure_id
    left join sudden_fault as d on d.failure_id = f.failure_id
        and coalesce(f.crash_tier, '') <> 'gpu'
        left join fault_kind as k on k.fault_kind = d.fault_kind
        left join storage_remark as w on w.failure_id = f.failure_id
            and coalesce(f.crash_class, f.alike_class) = 'software'
            and coalesce(f.crash_tier, '') <> 'gpu'
)
select
    failure_id, 'exception' as finding,
    case when (class = 'network' and is_unanswered)
        or is_changed then 'quiet'
        when class
            in ('software', 'gpu', 'infrastructure', 'network', 'collective_mismatch', 'rank_hang')
            then 'fired'
        else 'quiet' end as state,
    if(is_a_save, 'storage_io', class) as failure_class,
    cause_pattern as failure_kind,
    case
        when doubt is not null then 'undetermined'
        when cause_pattern = 'command_missing' or has_no_network then 'innocent'
        when (
            (remark_node_id is not null or sudden_node_id is not null or change_says is not null
                or (class = 'software' and is_of_store) or is_turned_down)
            and not is_foreign)
            then 'undetermined'
        when not is_storage_cleared
            and regexp_matches(cause_pattern, '^(nccl_system_error|dataloader_worker_exited'
            || '|tcpstore_(connect_timeout|clients_missing)|c10d_store_barrier_timeout'
            || '|ray_node_silent|checkpoint_ranks_failed|python_process_pool_broken'
            || '|python_exception_handed_over)$')
                then 'undetermined'
        when cause_pattern
            in ('http_no_local_port', 'http_no_buffer_space', 'http_proxy_failed')
            or (class = 'network'
                and (is_of_public_service or is_cluster_sure and starts_with(cause_pattern, 'hf_')
                    or (starts_with(cause_pattern, 'nccl') and not has_stepped)))
                then 'innocent'
        when class = 'network' and (is_lone or is_shared
            or (swamped_node_id is not null and not is_foreign)) then 'undetermined'
        when class = 'network' and is_cut and is_many then 'innocent'
        when class = 'network' and gone_count = 0 and soon_count = 0
            and (cause_pattern like 'nccl%'
                or (is_storage_cleared and (coalesce(stray_count, 0) = 0 or is_cut)))
                then 'innocent'
        when class = 'network' then 'undetermined'
        when cause_pattern = 'sdk_request_rejected'
            and contains(coalesce(crash_message, alike_message), 'MESSAGE:<') then 'undetermined'
            when cause_pattern = 'sdk_request_rejected' and link_score < 0.5
            and (is_storage_seen or not is_beyond_end) then 'innocent'
        when is_a_save or (is_of_mount and not contains(lower(cause_words), 'quota'))
            then 'undetermined'
        when class = 'software' and (is_about_transfer or is_of_transfer)
            and not (is_storage_cleared and fault_count = 0) then 'undetermined'
        when class = 'software' and frame_kind = 'storage'
            and not regexp_matches(cause_pattern,
                '(access_denied|credential_invalid|open_file_limit)$|^s3_request_rejected$'
                    '|misused$')
            and not is_foreign then 'undetermined'
        else 'innocent'
    end as storage_verdict,
    culprit_rank as rank,
    culprits_words || case when culprit_rank is null and is_plural then ' alike' else '' end
        || case when is_odd_one then ' has another model than the others, who failed because '
            else ' failed because ' end
            || case when cause_pattern = 'http_proxy_failed' then 'of a setting of its host: '
                else case if(is_of_file_system, 'file system', class)
            when 'file system' then 'of the file system: ' when 'gpu' then 'of a device error: '
                when 'infrastructure' then 'of its machine or the scheduler: '
                when 'network' then 'of the network: '
            else 'of an error of the program: ' end end
        || coalesce(nullif(cause_exception, trim(cause_words)) || ': ', '')
            || case
                when length(cause_words) > 160 then substr(cause_words, 1, 78) || ' … '
                    || trim(right(cause_words, 79))
                else cause_words end
            || coalesce('; ' || doubt, '')
            || case when change_says is not null and not is_foreign then '; ' || change_says
                when remark_node_id is not null
                and not is_foreign then '; AIStore node ' || remark_node_id
                    || ' printed an error about ' || remark_name
                when sudden_node_id is not null
                and not is_foreign then '; AIStore node ' || sudden_node_id || ' ' || sudden_words
                    || ' in those seconds, so it stays open whose fault that was'
                when swamped_node_id is not null
                and not is_foreign then '; AIStore node ' || swamped_node_id
                    || ' had very many requests at work then, so it stays open whose fault that was'
                when is_of_store
                and not is_foreign then '; what it says of AIStore no log confirms or denies'
                else '' end
                as statement,
    [
        {'term': 'error', 'file_id': cause_file_id, 'line_no': cause_line_no,
        'why': 'the first error'},
        {'term': case when cause_pattern = 'python_exception' then 'any_exception'
            when class = 'network' and has_no_network then 'no_network'
            when class = 'network' then 'network' when is_beyond_end then 'beyond_end' end},
        {'file_id': basis_file_id, 'line_no': basis_line_no,
        'why': coalesce('why rank ' || culprit_rank::varchar, 'why no rank is named') || ': '
            || coalesce(basis_words, 'all alike')},
        {'file_id': case when not is_foreign then change_file_id end, 'line_no': change_line_no,
        'why': change_says},
        {'file_id': case when not is_foreign then remark_file_id end, 'line_no': remark_line_no,
        'why': 'what AIStore node ' || remark_node_id || ' says of ' || remark_name},
        {'file_id': case when not is_foreign then sudden_file_id end, 'line_no': sudden_line_no,
        'why': 'how AIStore node ' || sudden_node_id || ' fared in those seconds'}
    ] as supports,
    case
        when link_score >= 0.5
            then [{'file_id': link_file_id, 'line_no': link_line_no,
                'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: '
                    || coalesce(fault_kind, 'chain')}]
        else [] end
        as contradicts
from told
where cause_pattern is not null
