-- A worker log or a dump with the job it belongs to.
-- grain: one row an ingested file of a training job
-- reads: ingested_file, worker_line
-- stored: yes
-- note: Job id: given, told by the file's name or by SLURM in its text, else that of the other files of its folder, else torchrun's run id (its own or the only one of its folder), else the folder's name.
create or replace view worker_file as
with file as (
    select
        file_id, path, kind, coalesce(job_folder, regexp_replace(path, '[/!][^/!]*$', '')) as job_folder,
        job_id, run_name, attempt_no, worker_node_no, path_rank, path_local_rank, is_stream_copy,
        is_utc, zone, date_method, modified_ns, first_ns, last_ns
    from ingested_file
    where kind in ('worker_log', 'stack_dump', 'flight_recorder') and state = 'ingested'
),
text_id as (
    select file_id, mode(split_part(json_extract_string(capture, '$.slurm_step'), '.', 1) order by split_part(json_extract_string(capture, '$.slurm_step'), '.', 1)) as job_id
    from worker_line
    where capture is not null and json_extract_string(capture, '$.slurm_step') is not null
    group by file_id
),
own as (
    select f.*, coalesce(f.job_id, t.job_id) as own_id
    from file as f
    left join text_id as t on t.file_id = f.file_id
),
folder_id as (
    select job_folder, min(own_id) as only_id
    from own
    where own_id is not null
    group by job_folder
    having count(distinct own_id) = 1
),
folder_run as (
    select job_folder, min(run_name) as run_name
    from file
    where run_name is not null
    group by job_folder
    having count(distinct run_name) = 1
),
folder_name as (
    select
        job_folder,
        regexp_extract(job_folder, '([^/!]+)$', 1) as name,
        count(*) over (partition by regexp_extract(job_folder, '([^/!]+)$', 1)) as namesake_count
    from (select distinct job_folder from file)
)
select
    o.file_id,
    o.path,
    o.kind,
    o.job_folder,
    coalesce(
        o.own_id, d.only_id, o.run_name, r.run_name,
        case when n.namesake_count > 1 then regexp_extract(o.job_folder, '([^/!]+[/!][^/!]+)$', 1) else n.name end,
        'job'
    ) as job_id,
    coalesce(o.attempt_no, 0) as path_attempt,
    o.worker_node_no,
    o.path_rank,
    o.path_local_rank,
    o.is_stream_copy,
    o.is_utc,
    o.zone,
    o.date_method,
    o.modified_ns,
    o.first_ns,
    o.last_ns
from own as o
left join folder_id as d on d.job_folder = o.job_folder
left join folder_run as r on r.job_folder = o.job_folder
left join folder_name as n on n.job_folder = o.job_folder
