-- The store that the checkpoints of a job attempt go to, as the last word says that names a place.
-- grain: one row a job attempt whose checkpoints go to a store
-- reads: worker_tail, worker_file
-- stored: yes
-- empty without: worker_tail where activity = 'checkpoint'
-- note: An address of AIStore's API, or of S3, which it serves. A job whose last word of a checkpoint names a path writes there first, whatever it uploads afterwards.
create or replace view checkpoint_store as
with word as (
    select
        w.job_id, w.path_attempt + t.attempt_no as attempt, t.local_ns, t.file_id, t.line_no,
        regexp_matches(t.text, '(ais|s3|msc)://|/v1/objects|/s3/') as is_store,
        regexp_matches(t.text, '\w://|(^|[^\w/])/[\w.-]+/[\w.-]') as is_place
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.activity = 'checkpoint'
)
select
    job_id,
    attempt,
    file_id,
    line_no
from (
    select * from word
    where is_store or is_place
    qualify row_number() over (partition by job_id, attempt order by coalesce(local_ns, 0) desc, file_id desc, line_no desc) = 1
) as w
where is_store
