-- The attempt that failed ran on another number of ranks than the one before. An observation without a class.
-- grain: one row a failure
-- reads: failure_case, job, worker_event
-- case: yes
-- note: Only where both attempts state their world size. A checkpoint, a sampler or a batch size may be made for the other number.
create or replace view finding_world_changed as
with run as (
    select job_id, attempt, world_size, is_world_stated,
        lag(attempt) over same_job as last_attempt, lag(world_size) over same_job as last_size, lag(is_world_stated) over same_job as is_last_stated
    from job
    window same_job as (partition by job_id order by attempt)
),
line as (
    select job_id, attempt, world_size, min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no
    from worker_event
    where world_size is not null
    group by job_id, attempt, world_size
)
select
    f.failure_id,
    'world_changed' as finding,
    case when r.is_world_stated and r.is_last_stated and r.world_size <> r.last_size then 'fired' else 'quiet' end as state,
    null::varchar as failure_class,
    'world_size' as failure_kind,
    'undetermined' as storage_verdict,
    null::varchar as node_id,
    null::integer as rank,
    null::varchar as chain_id,
    0.0 as score,
    coalesce('attempt ' || f.attempt::varchar || ' ran on ' || r.world_size::varchar || ' ranks, attempt ' || r.last_attempt::varchar || ' before it on ' || r.last_size::varchar || ': a checkpoint, a sampler or a batch size made for the other number may not fit', 'the world size did not change') as statement,
    [
        {'file_id': n.file_id, 'line_no': n.line_no, 'why': 'the world size now'},
        {'file_id': o.file_id, 'line_no': o.line_no, 'why': 'the world size before'}
    ] as supports,
    [] as contradicts
from failure_case as f
left join run as r on r.job_id = f.job_id and r.attempt = f.attempt
left join line as n on n.job_id = f.job_id and n.attempt = f.attempt and n.world_size = r.world_size
left join line as o on o.job_id = f.job_id and o.attempt = r.last_attempt and o.world_size = r.last_size
