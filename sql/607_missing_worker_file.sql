-- A worker log that a failed job should have left and that is not at hand: a gap in numbers such as error-JOB-0 … N−1.
-- grain: one row a failure and missing number
-- reads: failure_case, worker_file, worker_event
-- note: The number of files is known from the job's nodes where the log states them (ranks seen in a file, or processes that its launcher ended), else from the highest number seen.
create or replace view missing_worker_file as
with numbered as (
    select distinct f.failure_id, f.job_id, f.attempt, w.worker_node_no, w.path
    from failure_case as f
    join worker_file as w on w.job_id = f.job_id
    where w.worker_node_no is not null and regexp_matches(w.path, '-' || w.worker_node_no::varchar || '\.[a-z]+$')
),
span as (
    select n.failure_id, min(n.worker_node_no) as low, greatest(max(n.worker_node_no) + 1, any_value(case when j.ranks_seen_per_file > 0 then ceil(j.world_size / j.ranks_seen_per_file) end)) as file_count, min(n.path) as path
    from numbered as n
    join (
        select f.failure_id, f.world_size, max(c.rank_count) as ranks_seen_per_file
        from failure_case as f
        join (select job_id, attempt, file_id, greatest(count(distinct rank), count(distinct pid) filter (where pattern = 'torchrun_closing_signal')) as rank_count from worker_event where rank is not null or pattern = 'torchrun_closing_signal' group by job_id, attempt, file_id) as c on c.job_id = f.job_id and c.attempt = f.attempt
        group by f.failure_id, f.world_size
    ) as j on j.failure_id = n.failure_id
    group by n.failure_id
),
expected as (
    select failure_id, unnest(generate_series(0, least(file_count, 4096)::bigint - 1)) as worker_node_no, path
    from span
)
select
    e.failure_id,
    e.worker_node_no::integer as worker_node_no,
    regexp_replace(regexp_replace(e.path, '-\d+(\.[a-z]+)$', '-' || e.worker_node_no::varchar || '\1'), '^.*/', '') as file_name,
    regexp_replace(e.path, '-\d+(\.[a-z]+)$', '-' || e.worker_node_no::varchar || '\1') as path
from expected as e
where not exists (select 1 from numbered as n where n.failure_id = e.failure_id and n.worker_node_no = e.worker_node_no)
