-- A worker log or a dump with the job it belongs to.
-- grain: one row an ingested file of a training job
-- reads: ingested_file, worker_line
-- stored: yes
-- note: Job id: given, told by the file's name or by SLURM in its text, else that of the other
-- note: files of its folder, else torchrun's run id (its own or the only one of its folder), else
-- note: the number, no date, in front of the index by which logs of its folder differ
-- note: (run-544590-0.log, run-544590-1.log), else the folder's name. Folders of one folder that
-- note: hold nothing but Flight Recorder dumps, of different ranks and of the same hour, are the
-- note: hosts of one job. Stacks alone, in a folder right above the only folder with logs, are of
-- note: that job.
create or replace view worker_file as
with found as (
    select *, coalesce(job_folder, regexp_replace(path, '[/!][^/!]*$', '')) as folder
    from ingested_file
    where kind in ('worker_log', 'stack_dump', 'flight_recorder') and state = 'ingested'
),
dump_folder as (
    select folder, regexp_replace(folder, '/[^/]*$', '') as parent,
        list_sort(list(distinct path_rank)) as ranks, max(last_ns) as last_ns
    from found
    group by folder
    having bool_and(kind = 'flight_recorder')
),
beside as (
    select s.folder, min(f.folder) as job_folder
    from (select folder from found group by folder having bool_and(kind = 'stack_dump')) as s
    join found as f on f.kind = 'worker_log' and starts_with(f.folder, s.folder || '/')
        and regexp_matches(f.folder[length(s.folder) + 2 :], '^[^/]+(/[^/]+)?$')
    group by s.folder
    having count(distinct f.folder) = 1
),
host_parent as (
    select parent
    from dump_folder
    group by parent
    having count(*) > 1 and sum(len(ranks)) = len(list_distinct(flatten(list(ranks))))
        and max(last_ns) < min(last_ns) + 3600000000000
),
file as (
    select
        f.file_id, f.path, f.kind, coalesce(h.parent, b.job_folder, f.folder) as job_folder,
        f.job_id, f.run_name, f.attempt_no, f.worker_node_no, f.path_rank, f.path_local_rank,
        f.is_stream_copy,
        f.is_utc, f.zone, f.date_method, f.modified_ns, f.first_ns, f.last_ns
    from found as f
    left join dump_folder as d on d.folder = f.folder
    left join host_parent as h on h.parent = d.parent
    left join beside as b on b.folder = f.folder
),
text_id as (
    select file_id,
        mode(split_part(json_extract_string(capture, '$.slurm_step'), '.', 1)
            order by split_part(json_extract_string(capture, '$.slurm_step'), '.', 1))
            as job_id
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
numbered as (
    select file_id, job_folder, named.number as number
    from (
        select file_id, job_folder,
            regexp_extract(path,
                '(?:^|[^0-9])(\d{5,9})[._-](?:(?:host|node|rank|task|worker)[_-]?)?(\d{1,5})'
                    '(?:\.(?:err|jsonl?|log|out|txt))?(?:\.gz|\.zst)?$', ['number', 'place'])
                as named
        from file where kind = 'worker_log'
    )
    where not regexp_full_match(named.number, '|(19|20)\d\d(0\d|1[0-2])([0-2]\d|3[01])')
    window same as (partition by job_folder, named.number)
    qualify min(named.place) over same <> max(named.place) over same
),
folder_number as (
    select job_folder, any_value(number) as number
    from numbered
    group by job_folder
    having count(distinct number) = 1
),
folder_name as (
    select
        job_folder,
        regexp_extract(job_folder, '([^/!]+)$', 1) as name,
        count(*) over (partition by regexp_extract(job_folder, '([^/!]+)$', 1)) as namesake_count
    from (select distinct job_folder from file)
)
select
    o.file_id, o.path, o.kind, o.job_folder,
    coalesce(
        o.own_id, d.only_id, o.run_name, r.run_name, u.number, v.number,
        case when n.namesake_count > 1 then regexp_extract(o.job_folder, '([^/!]+[/!][^/!]+)$', 1)
            else n.name end,
        'job'
    ) as job_id,
    coalesce(o.attempt_no, 0) as path_attempt,
    o.worker_node_no, o.path_rank, o.path_local_rank, o.is_stream_copy,
    o.is_utc, o.zone, o.date_method, o.modified_ns, o.first_ns, o.last_ns
from own as o
left join folder_id as d on d.job_folder = o.job_folder
left join folder_run as r on r.job_folder = o.job_folder
left join numbered as u on u.file_id = o.file_id
left join folder_number as v on v.job_folder = o.job_folder
left join folder_name as n on n.job_folder = o.job_folder
