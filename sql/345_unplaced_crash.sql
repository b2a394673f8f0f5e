-- The first error of a failed attempt whose lines do not tell which rank it was: up to PyTorch 2.2
-- a traceback names none.
-- grain: one row a failed attempt in which such an error stands and no crash names a rank
-- reads: failure_signal, failed_attempt, rank_crash
-- case: yes
-- note: Errors of storage, data, network, device and host, with an exception or without: an error
-- note: of the program needs no rank to be told.
create or replace view unplaced_crash as
select
    s.job_id, s.attempt, null::integer as rank, s.signal, s.pattern, s.tier, s.failure_class,
    s.exception, s.frame_kind, s.exit_code,
    s.status_code, s.object, s.bucket, s.wid, s.node_id, s.endpoint, s.received_count,
    s.expected_count, s.user_location,
    s.utc_ns, s.latest_ns, s.file_id, s.line_no, s.message, s.text
from failure_signal as s
join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
where s.rank is null and s.signal = 'crash' and coalesce(s.exception, '') <> 'ChildFailedError'
    and s.failure_class
        in ('storage_io', 'data_loading_stall', 'network', 'data', 'gpu', 'infrastructure')
    and (s.exception is not null or s.tier <> 'launcher')
    and not exists (from rank_crash as c where c.job_id = s.job_id and c.attempt = s.attempt)
qualify row_number()
    over (partition by s.job_id, s.attempt order by s.utc_ns, s.latest_ns, s.file_id, s.line_no) = 1
