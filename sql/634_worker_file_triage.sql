-- A worker log at a glance: its ranks, connection resets, the highest retry, errors, first and last
-- time.
-- grain: one row a worker log
-- reads: worker_file, worker_event, source_file
-- note: Idle keep-alive connections are closed by AIStore after 30 s, and the next request on them
-- note: says reset: such resets are noise and counted only.
create or replace view worker_file_triage as
with counted as (
    select
        file_id,
        list_sort(list(distinct rank) filter (where rank is not null)) as ranks,
        count(*)
            filter (
                where pattern in ('http_connection_reset', 'urllib3_retry', 's3_connection_closed')
                    or contains(lower(text), 'connection reset'))
                as reset_count,
        count(*) filter (where role = 'retry') as retry_count,
        max(retry_no) as top_retry,
        max(retry_limit) as retry_limit,
        count(*) filter (where role = 'cause' and severity in ('error', 'fatal')) as error_count,
        count(*)
            filter (where pattern in ('nccl_watchdog_timeout', 'gloo_operation_timeout'))
                as timeout_count
    from worker_event
    group by file_id
)
select
    f.job_id,
    f.worker_node_no,
    f.path,
    s.lines,
    coalesce(c.ranks, []) as ranks,
    coalesce(c.reset_count, 0) as reset_count,
    coalesce(c.retry_count, 0) as retry_count,
    c.top_retry,
    c.retry_limit,
    coalesce(c.error_count, 0) as error_count,
    coalesce(c.timeout_count, 0) as timeout_count,
    s.first_at,
    s.last_at,
    f.file_id
from worker_file as f
join source_file as s on s.file_id = f.file_id
left join counted as c on c.file_id = f.file_id
where f.kind = 'worker_log'
