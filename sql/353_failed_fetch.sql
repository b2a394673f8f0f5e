-- What a mount's daemon, a downloader, a decoder or AIStore itself could not get to the end, in the
-- log of a rank before its error.
-- grain: one row a rank of a failed attempt and sort of source (a mount with Mountpoint, or any
-- grain: other)
-- reads: rank_crash, worker_event, threshold
-- case: yes
-- note: What the daemon of a mounted bucket says on the host of a rank that crashed is that rank's,
-- note: the last before its crash (a bus error, SIGBUS, is a page of a mapped file that did not
-- note: come, if the mount failed within felt_after_s before); seconds before an error of the
-- note: program about a read, what any such daemon failed in counts too.
create or replace view failed_fetch as
with error as (
    select
        x.*, regexp_extract(x.text, '^ *\d+: ') as task_label,
        x.pattern = 'python_exception' as is_unknown,
        x.pattern
            in ('archive_corrupt', 'archive_truncated', 'audio_truncated', 'data_file_truncated',
                'image_truncated', 'parquet_truncated')
            as is_cut,
        x.pattern = 'python_exception'
            and regexp_matches(x.text,
                '(?i)\b(OSError|IOError|EOFError)\b|Input/output error|unexpected end|ReadError')
                as is_read_error,
        (s.value * 1e9)::bigint as same_cause_ns, (l.value * 1e9)::bigint as felt_ns
    from rank_crash as x
    join threshold as s on s.name = 'same_cause_s'
    join threshold as l on l.name = 'felt_after_s'
),
said as (
    select
        *, regexp_extract(text, '^ *\d+: ') as task_label,
        case
            when pattern = 'mountpoint_s3_failed' then 'mountpoint'
            when pattern = 'rclone_read_failed'
                and coalesce(retry_no >= retry_limit,
                    try_cast(regexp_extract(text, 'error count now (\d+)', 1) as integer) > 10,
                    true)
                    then 'rclone'
            when pattern = 'ffmpeg_stream_cut' then 'ffmpeg'
            when pattern in ('storage_answer_printed', 'storage_line_failed') then 'told'
            when role = 'cause' and tier = 'data_io' and severity = 'error'
                and block_line_no is null and endpoint is not null then 'client'
            when regexp_matches(text, '\bcurl: \((18|28|56|92)\) ')
                and not contains(text, 'onnect to ') then 'curl'
        end as source
    from worker_event
),
pair as (
    select
        x.rank, x.job_id, x.attempt, x.pattern as error_pattern,
        x.failure_class as error_class, x.text as error_text, x.frame_kind, x.exit_code,
        x.is_unknown, x.is_cut, x.is_read_error, x.line_no as error_line_no,
        x.latest_ns as error_latest_ns,
        x.endpoint as error_endpoint, x.url as error_url, x.bucket as error_bucket,
        x.object as error_object,
        w.source, w.pattern, w.tier, w.failure_class, w.severity, w.capture, w.endpoint, w.url,
        w.bucket, w.object, w.utc_ns, w.latest_ns, w.stamp_source, w.file_id, w.line_no, w.text,
        w.message,
        w.task_label = x.task_label as is_task, w.rank is null or w.rank = x.rank as is_rank,
        x.utc_ns - w.utc_ns <= x.same_cause_ns as is_soon,
        x.utc_ns - w.latest_ns <= x.same_cause_ns as is_sure_soon,
        x.utc_ns - w.latest_ns <= x.felt_ns as is_felt,
        x.utc_ns
            - w.utc_ns
                <= case x.pattern when 'checkpoint_corrupt' then 180000000000 else 60000000000 end
            as is_recent
    from error as x
    join said as w on w.job_id = x.job_id and w.attempt = x.attempt and w.file_id = x.file_id
        and w.line_no < x.line_no
    where w.source is not null
),
fit as (
    select *
    from pair
    where case source
        when 'mountpoint'
            then (exit_code in (-7, 135) and json_extract_string(capture, '$.operation') = 'read'
                and is_task and is_felt)
            or error_pattern in ('checkpoint_save_failed', 'dataloader_shared_memory')
                or starts_with(error_pattern, 'fs_')
            or ((error_class = 'data' or error_pattern = 'checkpoint_corrupt' or is_unknown)
                and is_sure_soon
                and regexp_matches(error_text,
                    '(?i)read fail|fail\w*(:| to)? read|cannot read|I/?O error|input/output|can.t '
                        '(synchronously )?read|unexpected (end|eof)|truncated'))
            or is_read_error or (is_unknown and regexp_matches(error_text, '(?i)safetensor'))
        when 'rclone' then is_rank and is_recent and is_task
            and (
                regexp_matches(error_text,
                    '(^|[^\w.-])' || regexp_escape(regexp_extract(object, '[^/]+$'))
                        || '($|[^\w.-]|\.($|\W))')
                or (not contains(text, 'vfs cache: failed to download')
                    and not regexp_matches(error_text,
                        '\d[\w-]*\.\w{2,5}\b|[''"][^''"]*(/[^''"]*|\.\w{2,5})[''"]|(^'
                            '|[\s=:([<,])/[\w.@+-]+')))
            and (is_cut or error_pattern = 'fs_io_error'
                or (error_pattern = 'audio_decode_failed'
                    and regexp_matches(error_text,
                        'str\(\) failed|[Ss]ystem error|nspecified internal error|[Ii]nput/output '
                            'error'))
                or is_read_error
                or (is_unknown and regexp_matches(error_text, '(?i)disk I/O error')))
        when 'ffmpeg' then is_rank and is_recent and is_task
            and error_pattern in ('audio_decode_failed', 'video_decode_failed', 'audio_truncated')
            and regexp_matches(error_text, '/v1/objects/|/s3/|:5108\d/')
        when 'curl' then is_rank and is_recent and is_task
            and ((is_cut and contains(error_text, '/v1/objects/'))
                or (error_pattern = 'checkpoint_corrupt' and contains(text, 'curl: (18) ')))
        when 'client' then is_rank and is_recent and is_task and is_soon
            and ((is_unknown
                    and regexp_matches(error_text,
                        'CalledProcessError: Command [^ ]{0,3}(\S*/)?(ais|rclone|s5cmd|s3cmd|aws|mc'
                            '|curl|wget)\b'))
                or (is_cut and contains(error_text, '"pipe:')))
        else is_rank and is_recent and is_task and is_soon and (is_unknown or error_class = 'data')
            and (contains(error_text, 'CalledProcessError')
                or frame_kind in ('storage', 'data_loading', 'decoding'))
            and not exists (from worker_event as o
                where o.job_id = pair.job_id and o.attempt = pair.attempt
                    and o.file_id = pair.file_id and o.role = 'recovery'
                    and coalesce(o.rank, pair.rank) = pair.rank
                    and o.line_no between pair.line_no and pair.error_line_no)
    end
    qualify row_number() over (
        partition by job_id, attempt, rank, source = 'mountpoint'
        order by source = 'mountpoint'
                and regexp_matches(text, '/[\w.-]*\d[\w.-]*\.[A-Za-z]\w{1,11}\b')
                and is_sure_soon desc,
            line_no desc
    ) = 1
)
select
    job_id, attempt, rank,
    if(source = 'mountpoint', pattern, 'fetch_broken') as pattern,
    tier,
    if(source = 'mountpoint', failure_class, 'storage_io') as failure_class,
    severity,
    case when source in ('rclone', 'told', 'client') then endpoint
        when source <> 'mountpoint' then error_endpoint end
        as endpoint,
    case when source in ('rclone', 'told', 'client') then url
        when source <> 'mountpoint' then error_url end
        as url,
    case when source in ('rclone', 'told', 'client') then bucket
        when source <> 'mountpoint' then error_bucket end
        as bucket,
    if(source in ('mountpoint', 'rclone', 'told', 'client'), object, error_object) as object,
    utc_ns as from_ns,
    case when source = 'mountpoint' and stamp_source in ('own', 'wrapper') then utc_ns
        else greatest(least(latest_ns, error_latest_ns), utc_ns) end
        as to_ns,
    stamp_source, file_id, line_no, text, message
from fit
