-- What a rank of a failed attempt met when it asked for data: an error, a retry, a short answer, or none yet.
-- grain: one row a worker line or stack about a request, with the AIStore node it met
-- reads: failure_case, rank_activity, worker_event, worker_tail, worker_file, rank_crash, stack_request, job_cluster, node_endpoint, node, threshold
-- stored: yes
-- empty without: failure_case
-- note: The node is the designated target where the line names one, else the owner of the address; AIStore logs print the address of its inner network, so a public port is told by the host, if one daemon of the fitting role is known there (a redirected address carries pid=, a first one goes to a proxy). from_ns and to_ns bound the moment; an error without stamp of a rank that held up the others lies before the hang began. A line without a rank that is the error of one is that rank's. What the daemon of a mounted bucket says on the host of a rank that crashed is that rank's, the last before its crash (a bus error, SIGBUS, is a page of a mapped file that did not come, if the mount failed within felt_after_s before), and so is what curl (or FFmpeg, before a video or sound of an address of AIStore that it cannot decode) could not fetch to the end within a minute (of weights three, as a job starts in between) before content that ends early broke a rank of its host (fetch_broken; a connection that was never made cuts no content), or what rclone gave up to read for its mount within a minute before an error that names that file, or no file at all and says only that nothing could be read (its cache gives up at the eleventh error, and tries a single failed download again). Seconds before an error of the program about a read, what any such daemon failed in counts too; and a line of any program that an address of AIStore failed (storage_line_failed), or that prints AIStore's own answer (storage_answer_printed), before an error below a loader, a client, a decoder or a command, unless something recovered in between. Lines of the fabric between the ranks, of the kernel and of the model hub are no requests for data. pending: a stack shows the request in flight, at some moment of the hang, or the rank's last words name an AIStore job (xid) or an address that it waits for.
create or replace view rank_request as
with line as (
    select
        f.failure_id, f.job_id, f.attempt, coalesce(w.rank, x.rank) as rank, w.pattern, w.tier, w.role, w.failure_class, w.severity,
        w.endpoint, w.url, w.request_ns, w.wid, w.xid, w.node_id as named_id, w.bucket, coalesce(w.object, case when starts_with(w.pattern, 'fs_') then nullif(regexp_extract(json_extract_string(w.capture, '$.path'), '[^/]+/[^/]+$'), '') end) as object, w.status_code, w.retry_no, w.retry_limit, w.wait_s,
        w.received_count, w.expected_count, w.is_chained,
        w.utc_ns as from_ns,
        case
            when w.stamp_source in ('own', 'wrapper') then w.utc_ns
            when f.hang_start_ns is not null and w.utc_ns <= f.hang_start_ns + 3000000000 then greatest(least(w.latest_ns, f.hang_start_ns + 3000000000), w.utc_ns)
            else w.latest_ns
        end as to_ns,
        w.stamp_source, w.file_id, w.line_no, w.text, w.message
    from worker_event as w join failure_case as f on f.job_id = w.job_id and f.attempt = w.attempt
    left join rank_crash as x on x.job_id = w.job_id and x.attempt = w.attempt and x.file_id = w.file_id and x.line_no = w.line_no and w.rank is null
    where w.role in ('cause', 'retry', 'context', 'recovery') and (
        w.tier = 'data_io' or (w.tier = 'network' and not regexp_matches(w.pattern, '^(nccl|ucx|kernel)_')) or w.wid is not null or w.url is not null or w.status_code is not null or w.frame_kind = 'storage'
    ) and not starts_with(w.pattern, 'hf_') and coalesce(w.rank, x.rank) is not null
    union all by name
    select f.failure_id, f.job_id, f.attempt, s.rank, 'stack' as pattern, 'data_io' as tier, 'stack' as role, 'info' as severity, s.endpoint, s.url, s.wid, s.bucket, s.object,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns, 'stack' as stamp_source, s.file_id, s.line_no, s.text, s.text as message
    from stack_request as s join failure_case as f on f.job_id = s.job_id
    union all by name
    select f.failure_id, f.job_id, f.attempt, t.rank, 'last_words' as pattern, 'data_io' as tier, 'stack' as role, 'info' as severity, regexp_extract(t.text, 'aiting on (?:\w+ )?job ''([\w-]+)''', 1) as xid,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns, 'stack' as stamp_source, t.file_id, t.line_no, t.text, t.text as message
    from worker_tail as t join worker_file as w on w.file_id = t.file_id join failure_case as f on f.job_id = w.job_id and f.attempt = w.path_attempt + t.attempt_no
    where t.rank is not null and regexp_matches(t.text, 'aiting on (\w+ )?job ''')
    qualify row_number() over (partition by f.failure_id, t.rank order by t.line_no desc, t.file_id) = 1 and xid <> ''
    union all by name
    select f.failure_id, f.job_id, f.attempt, x.rank, w.pattern, w.tier, 'cause' as role, w.failure_class, w.severity, w.object, w.utc_ns as from_ns, case when w.stamp_source in ('own', 'wrapper') then w.utc_ns else greatest(least(w.latest_ns, x.latest_ns), w.utc_ns) end as to_ns, w.stamp_source, w.file_id, w.line_no, w.text, w.message
    from rank_crash as x join failure_case as f on f.job_id = x.job_id and f.attempt = x.attempt
    join worker_event as w on w.job_id = x.job_id and w.attempt = x.attempt and w.file_id = x.file_id and w.pattern = 'mountpoint_s3_failed' and w.line_no < x.line_no
    where (x.exit_code in (-7, 135) and json_extract_string(w.capture, '$.operation') = 'read' and regexp_extract(w.text, '^ *\d+: ') = regexp_extract(x.text, '^ *\d+: ') and x.utc_ns - w.latest_ns <= (select value * 1e9 from threshold where name = 'felt_after_s')) or x.pattern in ('checkpoint_save_failed', 'dataloader_shared_memory') or starts_with(x.pattern, 'fs_') or ((x.failure_class = 'data' or x.pattern in ('checkpoint_corrupt', 'python_exception')) and x.utc_ns - w.latest_ns <= (select value * 1e9 from threshold where name = 'same_cause_s') and regexp_matches(x.text, '(?i)read fail|fail\w*(:| to)? read|cannot read|I/?O error|input/output|can.t (synchronously )?read|unexpected (end|eof)|truncated')) or (x.pattern = 'python_exception' and regexp_matches(x.text, '(?i)\b(OSError|IOError|EOFError)\b|Input/output error|unexpected end|ReadError|safetensor'))
    qualify row_number() over (partition by f.failure_id, x.rank order by regexp_matches(w.text, '/[\w.-]*\d[\w.-]*\.[A-Za-z]\w{1,11}\b') and x.utc_ns - w.latest_ns <= (select value * 1e9 from threshold where name = 'same_cause_s') desc, w.line_no desc) = 1
    union all by name
    select f.failure_id, f.job_id, f.attempt, x.rank, 'fetch_broken' as pattern, w.tier, 'cause' as role, 'storage_io' as failure_class, w.severity, if(is_own, w.endpoint, x.endpoint) as endpoint, if(is_own, w.url, x.url) as url, if(is_own, w.bucket, x.bucket) as bucket, if(is_own, w.object, x.object) as object, w.utc_ns as from_ns, greatest(least(w.latest_ns, x.latest_ns), w.utc_ns) as to_ns, w.stamp_source, w.file_id, w.line_no, w.text, w.message
    from rank_crash as x join failure_case as f on f.job_id = x.job_id and f.attempt = x.attempt
    join (select *, pattern = 'rclone_read_failed' as is_mount, pattern in ('rclone_read_failed', 'storage_answer_printed', 'storage_line_failed') as is_own from worker_event where (pattern = 'rclone_read_failed' and coalesce(retry_no >= retry_limit, try_cast(regexp_extract(text, 'error count now (\d+)', 1) as integer) > 10, true)) or pattern in ('ffmpeg_stream_cut', 'storage_answer_printed', 'storage_line_failed') or (regexp_matches(text, '\bcurl: \((18|28|56|92)\) ') and not contains(text, 'onnect to '))) as w
        on w.job_id = x.job_id and w.attempt = x.attempt and w.file_id = x.file_id and w.line_no < x.line_no and coalesce(w.rank, x.rank) = x.rank and w.utc_ns >= x.utc_ns - case x.pattern when 'checkpoint_corrupt' then 180000000000 else 60000000000 end and regexp_extract(w.text, '^ *\d+: ') = regexp_extract(x.text, '^ *\d+: ')
    where case when w.pattern in ('storage_answer_printed', 'storage_line_failed') then (x.pattern = 'python_exception' or x.failure_class = 'data') and x.utc_ns - w.utc_ns <= (select value * 1e9 from threshold where name = 'same_cause_s') and (contains(x.text, 'CalledProcessError') or x.frame_kind in ('storage', 'data_loading', 'decoding')) and not exists (from worker_event as o where o.job_id = x.job_id and o.attempt = x.attempt and o.file_id = x.file_id and o.role = 'recovery' and coalesce(o.rank, x.rank) = x.rank and o.line_no between w.line_no and x.line_no) when is_mount then (regexp_matches(x.text, '(^|[^\w.-])' || regexp_escape(regexp_extract(w.object, '[^/]+$')) || '($|[^\w.-]|\.($|\W))') or (not contains(w.text, 'vfs cache: failed to download') and not regexp_matches(x.text, '\d[\w-]*\.\w{2,5}\b|[''"][^''"]*(/[^''"]*|\.\w{2,5})[''"]|(^|[\s=:([<,])/[\w.@+-]+'))) and (x.pattern in ('archive_corrupt', 'archive_truncated', 'audio_truncated', 'data_file_truncated', 'fs_io_error', 'image_truncated', 'parquet_truncated') or (x.pattern = 'audio_decode_failed' and regexp_matches(x.text, 'str\(\) failed|[Ss]ystem error|nspecified internal error|[Ii]nput/output error')) or (x.pattern = 'python_exception' and regexp_matches(x.text, '(?i)\b(OSError|IOError|EOFError)\b|Input/output error|disk I/O error|unexpected end|ReadError')))
        when w.pattern = 'ffmpeg_stream_cut' then x.pattern in ('audio_decode_failed', 'video_decode_failed', 'audio_truncated') and regexp_matches(x.text, '/v1/objects/|/s3/|:5108\d/') else (x.pattern in ('archive_corrupt', 'archive_truncated', 'audio_truncated', 'data_file_truncated', 'image_truncated', 'parquet_truncated') and contains(x.text, '/v1/objects/')) or (x.pattern = 'checkpoint_corrupt' and contains(w.text, 'curl: (18) ')) end
    qualify row_number() over (partition by f.failure_id, x.rank order by w.line_no desc) = 1
    union all by name
    select f.failure_id, f.job_id, f.attempt, a.rank, 'last_words' as pattern, 'data_io' as tier, 'stack' as role, 'info' as severity, regexp_extract(a.text, 'https?://([\w.-]+:\d+)', 1) as endpoint, regexp_extract(a.text, 'https?://[^\s''")]+') as url,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns, 'stack' as stamp_source, a.file_id, a.line_no, a.text, a.text as message
    from rank_activity as a join failure_case as f on f.job_id = a.job_id and f.attempt = a.attempt
    where a.witness = 'last_words' and a.activity = 'storage_wait' and f.hang_start_ns is not null and endpoint <> '' and regexp_matches(a.text, '(?i)\b(waiting (for|on) https?://|(written|read|sent|waiting|pending|stuck|open) (for|since) \d+(\.\d+)? ?s\b)')
),
host as (
    select cluster, split_part(endpoint, ':', 1) as host, any_value(node_id) as node_id
    from node_endpoint
    where not starts_with(endpoint, '127.') and not starts_with(endpoint, 'localhost')
    group by cluster, split_part(endpoint, ':', 1) having count(distinct node_id) = 1
),
placed as (
    select l.*, c.cluster, c.certainty as cluster_certainty, coalesce(e.node_id, h.node_id) as endpoint_node_id, n.node_id as named_node_id
    from line as l
    left join job_cluster as c on c.job_id = l.job_id and c.attempt = l.attempt
    left join node_endpoint as e on e.cluster = c.cluster and e.endpoint = l.endpoint left join (select t.cluster, t.host, t.node_id, d.role from host as t join node as d on d.cluster = t.cluster and d.node_id = t.node_id) as h
        on h.cluster = c.cluster and h.host = split_part(l.endpoint, ':', 1) and h.role = case when contains(l.url, 'pid=') then 'target' when contains(l.url, '/v1/') then 'proxy' end
    left join node as n on n.cluster = c.cluster and n.node_id = l.named_id
)
select
    failure_id, job_id, attempt, cluster, cluster_certainty, rank, case
        when coalesce(is_chained, false) then 'chained'
        when role in ('stack', 'retry', 'recovery') then case role when 'stack' then 'pending' when 'retry' then 'retry' else 'recovered' end
        when received_count is not null and expected_count is not null and received_count < expected_count then 'short'
        when status_code = 404 or pattern like '%not_found%' or pattern like '%missing%' then 'missing'
        when role = 'cause' then 'error'
        else 'note'
    end as outcome,
    coalesce(named_node_id, endpoint_node_id, named_id) as node_id, endpoint, url, wid, xid, bucket, object, status_code, retry_no, retry_limit, wait_s, received_count, expected_count,
    pattern, tier, failure_class, severity, request_ns, make_timestamp_ns(from_ns) as event_at, from_ns, to_ns, stamp_source, file_id, line_no, text, message
from placed
