-- What a rank of a failed attempt met when it asked for data: an error, a retry, a short answer, or
-- none yet.
-- grain: one row a worker line or stack about a request, with the AIStore node it met
-- reads: public_service, failure_case, rank_activity, worker_event, worker_tail, worker_file,
-- reads: rank_crash, failed_fetch, stack_request, job_cluster, cluster_extent, node_endpoint, node,
-- reads: pattern_content
-- case: kept
-- note: The node is the designated target where the line names one, else the owner of the address;
-- note: AIStore logs print the address of its inner network, so a public port is told by the host,
-- note: if one daemon of the fitting role is known there (a redirected address carries pid=, a
-- note: first one goes to a proxy). A redirect to an address of no other target went to the only
-- note: one whose log is missing.
create or replace view rank_request as
with line as (
    select
        f.failure_id, f.job_id, f.attempt, coalesce(w.rank, x.rank) as rank,
        if(w.pattern = 'data_pipe_failed', coalesce(x.pattern, w.pattern), w.pattern) as pattern,
        w.tier, w.role, w.failure_class, w.severity,
        w.endpoint, w.url, w.request_ns, w.wid, w.xid, w.node_id as named_id, w.bucket,
        coalesce(w.object,
            case
                when starts_with(w.pattern, 'fs_')
                    then nullif(
                        regexp_extract(json_extract_string(w.capture, '$.path'), '[^/]+/[^/]+$'),
                        '') end)
            as object,
        w.status_code, w.retry_no, w.retry_limit, w.wait_s,
        w.received_count, w.expected_count, w.is_chained,
        w.utc_ns as from_ns,
        case
            when w.stamp_source in ('own', 'wrapper') then w.utc_ns
            when f.hang_start_ns is not null
                and w.utc_ns <= f.hang_start_ns + 3000000000
                    then greatest(least(w.latest_ns, f.hang_start_ns + 3000000000), w.utc_ns)
            else w.latest_ns
        end as to_ns,
        w.stamp_source, w.file_id, w.line_no, w.text, w.message
    from worker_event as w join failure_case as f on f.job_id = w.job_id and f.attempt = w.attempt
    left join rank_crash as x on x.job_id = w.job_id and x.attempt = w.attempt
        and x.file_id = w.file_id and x.line_no = w.line_no
        and (w.rank is null or (w.pattern = 'data_pipe_failed' and w.rank = x.rank))
    where w.role in ('cause', 'retry', 'context', 'recovery') and (
        w.tier = 'data_io'
            or (w.tier = 'network' and not regexp_matches(w.pattern, '^(nccl|ucx|kernel)_'))
            or w.wid is not null or w.url is not null or w.status_code is not null
            or w.frame_kind = 'storage'
    ) and not starts_with(w.pattern, 'hf_')
        and not exists (from public_service as p
            where regexp_matches(w.url, '^(https?://[^/]+)?(' || p.path_pattern || ')'))
        and coalesce(w.rank, x.rank) is not null
    union all by name
    select f.failure_id, f.job_id, f.attempt, s.rank, 'stack' as pattern, 'data_io' as tier,
        'stack' as role, 'info' as severity, s.endpoint, s.url, s.wid, s.bucket, s.object,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns,
            'stack' as stamp_source, s.file_id, s.line_no, s.text, s.text as message
    from stack_request as s join failure_case as f on f.job_id = s.job_id
    union all by name
    select f.failure_id, f.job_id, f.attempt, t.rank, 'last_words' as pattern, 'data_io' as tier,
        'stack' as role, 'info' as severity,
        regexp_extract(t.text, 'aiting on (?:\w+ )?job ''([\w-]+)''', 1) as xid,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns,
            'stack' as stamp_source, t.file_id, t.line_no, t.text, t.text as message
    from worker_tail as t join worker_file as w on w.file_id = t.file_id
        join failure_case as f on f.job_id = w.job_id and f.attempt = w.path_attempt + t.attempt_no
    where t.rank is not null and regexp_matches(t.text, 'aiting on (\w+ )?job ''')
    qualify row_number()
        over (partition by f.failure_id, t.rank order by t.line_no desc, t.file_id) = 1
        and xid <> ''
    union all by name
    select f.failure_id, x.*, 'cause' as role
    from failed_fetch as x join failure_case as f on f.job_id = x.job_id and f.attempt = x.attempt
    union all by name
    select f.failure_id, f.job_id, f.attempt, a.rank, 'last_words' as pattern, 'data_io' as tier,
        'stack' as role, 'info' as severity,
        regexp_extract(a.text, 'https?://([\w.-]+:\d+)', 1) as endpoint,
        regexp_extract(a.text, 'https?://[^\s''")]+') as url,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns,
            'stack' as stamp_source, a.file_id, a.line_no, a.text, a.text as message
    from rank_activity as a join failure_case as f on f.job_id = a.job_id and f.attempt = a.attempt
    where a.witness = 'last_words' and a.activity = 'storage_wait' and f.hang_start_ns is not null
        and endpoint <> ''
        and regexp_matches(a.text,
            '(?i)\b(waiting (for|on) https?://|(written|read|sent|waiting|pending|stuck|open) (for'
                '|since) \d+(\.\d+)? ?s\b|[\d.]+ ?([KMGT]i?B)? of [\d.]+ '
                '?[KMGT]i?B\b[^\r\n]{0,160}\b(after|in|for|since) \d+(\.\d+)? ?s\b|(no|nothing'
                '|without)\b[^\r\n]{0,40} (after|in|for|since) \d+(\.\d+)? ?s\b)|/(v1/objects'
                '|s3)/\S+ (is |was )?(opened|opening|requested|asked for)\b')
        and coalesce(regexp_extract(a.text, '([\d.]+) ?(?:[KMGT]i?B )?of [\d.]+ ?[KMGT]i?B', 1)
            <> nullif(regexp_extract(a.text, ' of ([\d.]+) ?[KMGT]i?B', 1), ''),
            true)
    union all by name
    select f.failure_id, f.job_id, f.attempt, a.rank, 'last_words' as pattern, 'data_io' as tier,
        'stack' as role, 'info' as severity, w.endpoint, w.url,
        coalesce(f.hang_start_ns, f.stall_ns) as from_ns, greatest(f.heard_ns, from_ns) as to_ns,
            'stack' as stamp_source, w.file_id, w.line_no, w.text, a.text as message
    from rank_activity as a
        join failure_case as f on f.job_id = a.job_id and f.attempt = a.attempt
            and f.hang_start_ns is not null
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = a.rank
        and w.pattern = 'checkpoint_store' and w.endpoint is not null and w.utc_ns <= f.heard_ns
    where a.witness = 'last_words' and a.activity = 'checkpoint'
        and regexp_extract(a.text,
            '([\d.]+) ?(?:[KMGT]i?B )?(?:of|/) ?[\d.]+ ?[KkMGT]i?B (?:have been |are |were '
                ')?(?:written|uploaded|sent|stored|saved|flushed|persisted)',
            1) not
            in ('', regexp_extract(a.text, '(?:of|/) ?([\d.]+) ?[KkMGT]i?B', 1))
    qualify row_number()
        over (partition by f.failure_id, a.rank order by w.utc_ns desc, w.file_id, w.line_no desc)
            = 1
),
host as (
    select cluster, split_part(endpoint, ':', 1) as host, any_value(node_id) as node_id
        from node_endpoint
    where not starts_with(endpoint, '127.') and not starts_with(endpoint, 'localhost')
    group by cluster, split_part(endpoint, ':', 1) having count(distinct node_id) = 1
),
lone as (
    select x.job_id, x.attempt, x.cluster,
        any_value(n.node_id) filter (where not n.has_log) as node_id
    from cluster_extent as x
    join node as n on n.cluster = x.cluster and n.role = 'target'
    group by x.job_id, x.attempt, x.cluster, x.target_count
    having count(*) = x.target_count and count(*) filter (where not n.has_log) = 1
),
placed as (
    select l.*, c.cluster, c.certainty as cluster_certainty,
        coalesce(e.node_id, h.node_id, z.node_id) as endpoint_node_id, n.node_id as named_node_id
    from line as l
    left join job_cluster as c on c.job_id = l.job_id and c.attempt = l.attempt
    left join node_endpoint as e on e.cluster = c.cluster and e.endpoint = l.endpoint
        left join (select t.cluster, t.host, t.node_id, d.role from host as t
            join node as d on d.cluster = t.cluster and d.node_id = t.node_id)
            as h
        on h.cluster = c.cluster and h.host = split_part(l.endpoint, ':', 1)
            and h.role
                = case when contains(l.url, 'pid=')
                    or regexp_matches(l.text, 'url: /v1/\S*[?&]pid=') then 'target'
                    when contains(l.url, '/v1/') then 'proxy' end
    left join node as n on n.cluster = c.cluster and n.node_id = l.named_id
    left join lone as z on z.job_id = l.job_id and z.attempt = l.attempt and z.cluster = c.cluster
        and l.endpoint is not null
        and regexp_matches(concat_ws(' ', l.url, l.text), '/v1/\S*[?&]pid=')
),
answered as (
    select placed.*, case
            when coalesce(is_chained, false) then 'chained'
            when role in ('stack', 'retry', 'recovery')
                then case role when 'stack' then 'pending' when 'retry' then 'retry'
                    else 'recovered' end
            when received_count is not null and expected_count is not null
                and received_count < expected_count then 'short'
            when status_code = 404 or content = 'absent' then 'missing'
            when role = 'cause' then 'error'
            else 'note' end as outcome
    from placed
    left join pattern_content as p on p.pattern = placed.pattern
)
select
    failure_id, job_id, attempt, cluster, cluster_certainty, rank, outcome,
    coalesce(named_node_id, endpoint_node_id, named_id) as node_id, endpoint, url, wid, xid, bucket,
        object, status_code, retry_no, retry_limit, wait_s, received_count, expected_count,
    pattern, tier, failure_class, severity, request_ns, make_timestamp_ns(from_ns) as event_at,
    from_ns, to_ns, stamp_source, file_id, line_no, text, message,
    coalesce(max(case when outcome = 'recovered' then line_no end)
        over (partition by failure_id, rank, file_id) > line_no,
        false)
        as is_got_over
from answered
