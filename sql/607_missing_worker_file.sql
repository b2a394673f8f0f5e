-- A worker log that a failed job should have left and that is not available: a gap in numbers such
-- as error-JOB-0 … N−1.
-- grain: one row a failure and missing number
-- reads: failure_case, worker_file, worker_event
-- case: kept
-- note: The number of files follows from the ranks a file holds: the only share of the world size
-- note: with which each rank stands in its own file; the least of several where a file shows two
-- note: ranks or more, or its launcher ended so many processes. Where no share fits, or too little
-- note: is seen, only gaps below the highest number count.
create or replace view missing_worker_file as
with numbered as (
    select distinct f.failure_id, f.job_id, f.attempt, f.world_size, w.file_id, w.worker_node_no,
        w.path
    from failure_case as f
    join worker_file as w on w.job_id = f.job_id
    where w.worker_node_no is not null
        and regexp_matches(w.path, '-' || w.worker_node_no::varchar || '\.[a-z]+$')
),
held as (
    select distinct n.failure_id, n.world_size, n.worker_node_no, e.rank
    from numbered as n
    join worker_event as e on e.job_id = n.job_id and e.attempt = n.attempt
        and e.file_id = n.file_id
    where e.rank is not null
),
ended as (
    select failure_id, max(process_count) as process_count
    from (select n.failure_id, n.file_id, count(distinct e.pid) as process_count from numbered as n
        join worker_event as e on e.job_id = n.job_id and e.attempt = n.attempt
            and e.file_id = n.file_id and e.pattern = 'torchrun_closing_signal'
        group by n.failure_id, n.file_id)
    group by failure_id
),
bound as (
    select
        h.failure_id, h.world_size,
        greatest(max(h.rank // (h.worker_node_no + 1)) + 1, max(e.process_count)) as least_count,
        coalesce(min(h.rank // nullif(h.worker_node_no, 0)), h.world_size) as most_count,
        count(*) > count(distinct h.worker_node_no) or max(e.process_count) > 1 as is_shared
    from held as h
    left join ended as e on e.failure_id = h.failure_id
    group by h.failure_id, h.world_size
),
share as (
    select failure_id, any_value(world_size) // min(rank_count) as file_count
    from (select failure_id, world_size, is_shared, least_count, most_count,
        unnest(generate_series(1, least(world_size, 65536)::bigint)) as rank_count
        from bound)
    where world_size % rank_count = 0 and rank_count between least_count and most_count
    group by failure_id
    having count(*) = 1 or bool_and(is_shared)
),
span as (
    select n.failure_id, greatest(max(n.worker_node_no) + 1, max(s.file_count)) as file_count,
        min(n.path) as path
    from numbered as n
    left join share as s on s.failure_id = n.failure_id
    group by n.failure_id
),
expected as (
    select failure_id,
        unnest(generate_series(0, least(file_count, 4096)::bigint - 1)) as worker_node_no, path
    from span
)
select
    e.failure_id,
    e.worker_node_no::integer as worker_node_no,
    regexp_replace(
        regexp_replace(e.path, '-\d+(\.[a-z]+)$', '-' || e.worker_node_no::varchar || '\1'),
        '^.*/', '')
        as file_name,
    regexp_replace(e.path, '-\d+(\.[a-z]+)$', '-' || e.worker_node_no::varchar || '\1') as path
from expected as e
where not exists (select 1 from numbered as n
    where n.failure_id = e.failure_id and n.worker_node_no = e.worker_node_no)
