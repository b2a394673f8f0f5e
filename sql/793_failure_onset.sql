-- When storage began to fail a job, and how long until its ranks hung.
-- grain: one row a failure for which storage is guilty
-- reads: failure, failure_beginning
-- public: yes
-- note: storage_error_at is the first of the node's trouble and of the first error; until_hang_s is
-- note: null where no rank hung, and where the first sign of storage is later than the hang.
create or replace view failure_onset as
with begun as (
    select unnest(failure_ids) as failure_id, begun_at
    from failure_beginning
),
first as (
    select
        f.failure_id, f.hang_started_at,
        least(min(b.begun_at), f.first_error_at) as storage_error_at
    from failure as f
    left join begun as b on b.failure_id = f.failure_id
    where f.storage_verdict = 'guilty'
    group by f.failure_id, f.hang_started_at, f.first_error_at
)
select
    failure_id,
    storage_error_at,
    hang_started_at,
    case when hang_started_at >= storage_error_at
        then (epoch_ns(hang_started_at) - epoch_ns(storage_error_at)) / 1e9 end as until_hang_s
from first
