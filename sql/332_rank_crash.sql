-- The first thing that went wrong on a rank on its own: an exception, a fatal line, a kill.
-- grain: one row a rank of a failed attempt that crashed or was killed
-- reads: failure_signal, worker_event, worker_file, failed_attempt, seen_rank
-- case: kept
-- note: Of several lines the first names the cause, but an exception that ended the process counts
-- note: before one that was only logged; that a DataLoader worker is gone is no cause where a fatal
-- note: line tells why. An exception of no known kind that a known one of storage, network or
-- note: device led to (`raise … from`) stands for that one, and so does a missing file, as fsspec
-- note: gives a store's errors the names of a file system's. The rank to which gloo hands more than
-- note: it expects is not the one that sent it.
create or replace view rank_crash as
with exited
    as (select job_id, attempt, min(rank) as rank, min(file_id) as file_id from failure_signal
        where exit_code = 1 and rank is not null group by job_id, attempt
        having count(distinct rank) = 1),
aborted as (
    select job_id, attempt, any_value(rank) as rank
        from (select job_id, attempt, rank, bool_or(signal = 'timeout') as is_waiting
            from failure_signal where rank is not null group by job_id, attempt, rank
            having bool_or(exit_code in (-6, 134)))
    group by job_id, attempt having count(*) = 1 and not any_value(coalesce(is_waiting, false))
),
spared as (
    select r.job_id, r.attempt, min(r.rank) as rank, min(r.file_id) as file_id,
        min(f.progress_ns) as progress_ns
        from seen_rank as r
    join failed_attempt as f on f.job_id = r.job_id and f.attempt = r.attempt
        and f.timeout_count > 0
    where not exists (select 1 from failure_signal as s
            where s.job_id = r.job_id and s.attempt = r.attempt and s.rank = r.rank
                and s.signal = 'timeout')
    group by r.job_id, r.attempt having count(*) = 1
),
owned
    as (select distinct job_id, attempt from failure_signal
        where signal in ('crash', 'killed') and rank is not null),
wrapper
    as (select *
        from (values ('python_exception', 0), ('python_exception_handed_over', -1),
            ('dataloader_worker_exited', 0),
            ('file_missing', 0), ('fs_permission_denied', 0),
            ('loader_failed', 1), ('storage_transfer_failed', 1),
            ('reader_content_truncated', 1),
            ('storage_client_error', 2), ('storage_read_failed', 2), ('storage_object_missing', 2),
            ('storage_url_missing', 2))
            as t(pattern, telling)),
cause as (
    select c.* replace ('crash' as signal)
    from failure_signal as c
    left join wrapper as l on l.pattern = c.pattern
        where c.signal = 'chained' and c.rank is not null
        and (c.failure_class in ('storage_io', 'data_loading_stall', 'network', 'gpu')
            or (c.failure_class = 'data' and regexp_matches(c.pattern, '^(sdk|s3|http|lhotse)_'))
            or (c.failure_class in ('software', 'infrastructure')
                and regexp_matches(c.pattern, '^(sdk|s3|http|dataloader_worker)_'))
            or exists (select 1 from failure_signal as h
                where h.pattern = 'python_exception_handed_over' and h.signal = 'crash'
                    and h.rank = c.rank and h.file_id = c.file_id
                    and h.block_line_no = c.block_line_no))
        and exists (select 1 from failure_signal as g
            join wrapper as w on w.pattern = g.pattern and w.telling < coalesce(l.telling, 3)
            where g.signal = 'crash' and g.rank = c.rank and g.file_id = c.file_id
                and g.block_line_no = c.block_line_no)
    qualify row_number()
        over (partition by c.file_id, c.block_line_no, c.rank order by c.line_no desc) = 1
),
reported as (
    select p.* replace (c.rank as rank, 'crash' as signal, true as is_uncaught),
        c.file_id as own_file_id, c.block_line_no as own_block_line_no
    from failure_signal as c
    join failure_signal as g on g.file_id = c.file_id and g.rank = c.rank and g.signal = 'crash'
        and g.block_line_no = c.block_line_no
        and g.failure_class in ('storage_io', 'data_loading_stall', 'network')
    join failure_signal as p on p.file_id = c.file_id and p.line_no < c.block_line_no
        and p.signal = 'crash' and p.block_line_no < c.block_line_no
        and p.exception = c.exception and p.message = c.message
        and coalesce(p.rank, c.rank) = c.rank
    where c.signal = 'chained' and c.failure_class in ('software', 'gpu')
    qualify row_number()
        over (partition by c.file_id, c.block_line_no, c.rank order by p.line_no) = 1
),
unplaced as (
    select s.*,
        coalesce(a.rank,
            case when s.failure_class = 'gpu' and s.latest_ns >= q.progress_ns then q.rank end)
            as aborted_rank,
        case when s.pattern = 'process_heap_corrupt' then a.rank
            else coalesce(
                case when x.worker_node_no <> y.worker_node_no
                    or nullif(regexp_extract(x.path, 'node[_-]?(\d+)\.\w+$', 1), '')
                        <> nullif(regexp_extract(y.path, 'node[_-]?(\d+)\.\w+$', 1), '')
                        then null
                    else e.rank end,
                a.rank, q.rank) end
            as whose
    from failure_signal as s left join exited as e on e.job_id = s.job_id and e.attempt = s.attempt
        left join worker_file as x on x.file_id = s.file_id
        left join worker_file as y on y.file_id = e.file_id
    left join aborted as a on a.job_id = s.job_id and a.attempt = s.attempt
        and (s.tier = 'gpu' or s.pattern = 'process_heap_corrupt')
    left join spared as q on q.job_id = s.job_id and q.attempt = s.attempt and q.file_id = s.file_id
    where s.rank is null and s.signal = 'crash'
        and not regexp_matches(s.text, 'torchrun|torch/distributed/(run|elastic|launcher)')
        and not exists (select 1 from owned as o
            where o.job_id = s.job_id and o.attempt = s.attempt)
),
told as (
    select * from failure_signal as s
    where rank is not null and signal in ('crash', 'killed')
        and pattern is distinct from 'gloo_size_mismatch'
        and not (pattern in (select pattern from wrapper) and exists (
            from cause as c
            where c.file_id = s.file_id and c.rank = s.rank and c.block_line_no = s.block_line_no))
        and not exists (from reported as r where r.own_file_id = s.file_id and r.rank = s.rank
            and r.own_block_line_no = s.block_line_no)
        union all select * from cause
        union all select * exclude (own_file_id, own_block_line_no) from reported union all
    select s.* replace (e.rank as rank) from failure_signal as s
        join failure_signal as e on e.job_id = s.job_id and e.attempt = s.attempt
            and e.file_id = s.file_id and e.pattern = 'dataloader_worker_exited'
            and e.rank is not null and e.line_no > s.line_no
    where s.rank is null and s.signal = 'crash' and s.pattern = 'spawn_without_guard'
        qualify row_number() over (partition by e.file_id, e.line_no order by s.line_no desc) = 1
    union all select s.* replace (e.rank as rank, 'crash' as signal) from failure_signal as s
        join worker_event as e on e.job_id = s.job_id and e.attempt = s.attempt
            and e.file_id = s.file_id and e.pattern = 'torch_child_failed' and e.rank is not null
            and s.line_no between e.line_no and e.line_no + 200
    where s.rank is null and s.signal in ('crash', 'launcher')
    union all select * exclude (aborted_rank, whose) replace (whose as rank) from unplaced
        where whose is not null
            and (exception is not null or aborted_rank is not null or is_given_up)
),
foretold as (
    select p.file_id, p.line_no, p.rank, mode(h.pattern order by h.pattern) as pattern,
        any_value(h.failure_class) as failure_class
    from told as p
    join failure_signal as h on h.file_id = p.file_id
        and h.line_no between p.line_no - 60 and p.line_no - 1
        and coalesce(h.latest_ns, h.utc_ns) >= p.utc_ns - 2000000000
        and coalesce(h.rank, p.rank) = p.rank
        and case p.pattern when 'data_pipe_failed' then h.pattern = 'http_not_found'
            and regexp_matches(p.text, '\b(exit|status) 22\b')
            when 's3_endpoint_unreachable' then h.pattern = 'http_connection_refused'
                and h.block_line_no = p.block_line_no
            when 'storage_transfer_failed' then h.failure_class = 'data' and h.signal = 'error'
            else false end
    group by p.file_id, p.line_no, p.rank, p.pattern
    having p.pattern <> 'storage_transfer_failed' or count(*) >= 3
    union all
    select distinct p.file_id, p.line_no, p.rank, 'storage_given_up', 'storage_io'
    from told as p
    join failure_signal as h on h.job_id = p.job_id and h.attempt = p.attempt
        and h.signal = 'retry' and h.tier = 'data_io' and coalesce(h.rank, p.rank) = p.rank
        and regexp_matches(h.message, '(?i)\b(read|fetch|get|download|load|request|batch)')
        and contains(regexp_replace(h.message, '\d+', '', 'g'),
            regexp_replace(p.message, '\d+', '', 'g'))
    where p.pattern = 'python_exception' and regexp_matches(p.exception,
        '(?:Runtime|IO|OS|Connection|Timeout|EOF)Error$|^(?:[A-Z]\w*)?(?:Batch|Read|Fetch)\w*$')
),
line as (
    select
        s.* replace (coalesce(d.pattern, s.pattern) as pattern,
            coalesce(d.failure_class, s.failure_class) as failure_class),
        case
            when s.signal = 'crash' and s.tier in ('process', 'gpu')
                and s.pattern not
                    in ('python_exception', 'python_attribute_error', 'python_assertion')
                    then 1
            when s.signal = 'crash' and s.pattern <> 'python_exception' then 2
            when s.signal = 'crash' then 3
            when s.signal = 'killed' then 4
            else 5
        end as certainty
    from told as s join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
    left join foretold as d on d.file_id = s.file_id and d.line_no = s.line_no and d.rank = s.rank
    where s.signal in ('crash', 'killed')
),
chosen as (
    select *, count(*) over (partition by job_id, attempt, rank) as line_count
    from (select *, pattern = 'dataloader_worker_exited'
        and bool_or(certainty = 1) over (partition by job_id, attempt, rank) as is_of_child
        from line)
    qualify row_number()
        over (partition by job_id, attempt, rank order by (signal = 'killed'), is_of_child,
            coalesce(is_uncaught, false) desc, certainty, utc_ns, line_no)
            = 1
)
select job_id, attempt, rank, signal, pattern, tier, severity, case
        when pattern like 'cuda%' and exists (
            select 1 from failure_signal as x
            where x.job_id = c.job_id and x.attempt = c.attempt
                and (x.pattern like 'gpu_xid%'
                    or x.pattern in ('amdgpu_failed', 'nvswitch_fatal_error'))
                and x.failure_class = 'gpu'
                and (x.rank = c.rank or (x.rank is null and x.file_id = c.file_id))
        ) then 'gpu'
        else failure_class
    end as failure_class, exception, frame_kind, collective, user_location, exit_code,
    endpoint, url, request_ns, wid, xid, node_id, bucket, object, status_code, received_count,
    expected_count,
    utc_ns, latest_ns, stamp_source, line_count, file_id, line_no, message, text, capture
from chosen as c
