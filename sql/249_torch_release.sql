-- The PyTorch release of a job, stated or inferred from the source lines its log prints.
-- grain: one row a job
-- reads: worker_event, torch_source_line
-- stored: yes
-- note: A vendor build shifts line numbers, so a release that is not stated is a hint.
create or replace view torch_release as
with stated as (
    select job_id, any_value(json_extract_string(capture, '$.torch_version')) as version
    from worker_event
    where pattern = 'torch_version'
    group by job_id
),
printed as (
    select e.job_id, mode(l.release_no order by l.release_no) as release_no
    from worker_event as e
    join torch_source_line as l
        on l.source_line
            = try_cast(regexp_extract(e.text, 'ProcessGroupNCCL\.cpp:(\d+)\]', 1) as integer)
    group by e.job_id
)
select
    coalesce(s.job_id, p.job_id) as job_id,
    s.version,
    coalesce(
        try_cast(split_part(s.version, '.', 1) as integer) * 100
            + try_cast(split_part(s.version, '.', 2) as integer),
        p.release_no
    )::integer as release_no
from stated as s
full join printed as p on p.job_id = s.job_id
