-- The first thing that went wrong on a rank by itself: an exception, a fatal line, a kill.
-- grain: one row a rank of a failed attempt that crashed or was killed
-- reads: failure_signal, failed_attempt
-- stored: yes
-- empty without: failed_attempt
-- note: Of several lines the first names the cause, but an exception that ended the process counts before one that was only logged. A CUDA error beside a hardware Xid of that rank or node is the hardware's. A kill that torchrun lists is not one the agent sent itself.
create or replace view rank_crash as
with line as (
    select
        s.*,
        case
            when s.signal = 'crash' and s.tier in ('process', 'gpu') and s.pattern not in ('python_exception', 'python_attribute_error', 'python_assertion') then 1
            when s.signal = 'crash' and s.pattern <> 'python_exception' then 2
            when s.signal = 'crash' then 3
            when s.signal = 'killed' then 4
            else 5
        end as certainty
    from failure_signal as s
    join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
    where s.signal in ('crash', 'killed') and s.rank is not null
),
chosen as (
    select *, count(*) over (partition by job_id, attempt, rank) as line_count
    from line
    qualify row_number() over (
        partition by job_id, attempt, rank
        order by (signal = 'killed'), coalesce(is_uncaught, false) desc, certainty, utc_ns, line_no
    ) = 1
)
select
    job_id, attempt, rank, signal, pattern, tier, severity,
    case
        when pattern like 'cuda%' and exists (
            select 1 from failure_signal as x
            where x.job_id = c.job_id and x.attempt = c.attempt and x.pattern like 'gpu_xid%' and x.failure_class = 'gpu' and (x.rank = c.rank or (x.rank is null and x.file_id = c.file_id))
        ) then 'gpu'
        else failure_class
    end as failure_class, exception, frame_kind, collective, user_location, exit_code,
    endpoint, url, request_ns, wid, xid, node_id, bucket, object, status_code, received_count, expected_count,
    utc_ns, latest_ns, stamp_source, line_count, file_id, line_no, message, text, capture
from chosen as c
