-- Whether a job's own lines speak of AIStore or of an address of it, and which clusters' logs lie
-- beside its logs.
-- grain: one row a job and cluster beside it (cluster null where none is)
-- reads: worker_line, worker_file, ais_file, ais_line, threshold
-- stored: yes
-- note: Beside means below the job's folder, or below a folder at most two levels above it; the
-- note: nearest such clusters are taken.
create or replace view job_storage as
with job as (
    select f.job_id, bool_or(w.file_id is not null) as is_ais_user
    from worker_file as f
    left join (
        select distinct file_id
        from worker_line
        where wid is not null or xid is not null or node_id is not null or pattern like 'sdk%'
            or pattern like 'lhotse%' or pattern = 'data_source_ais'
            or contains(text, 'ais://') or contains(text, 'aistore')
            or contains(text, '/v1/objects/') or contains(text, '/s3/')
            or endpoint in (select endpoint from ais_line where pattern = 'ais_node_address')
    ) as w on w.file_id = f.file_id
    group by f.job_id
),
pair as (
    select distinct
        w.job_id,
        f.cluster,
        len(w.parts) as depth,
        len(
            list_filter(range(1, least(len(w.parts), len(f.parts)) + 1),
                lambda i: w.parts[1:i] = f.parts[1:i]))
            as shared_depth
    from (select distinct job_id, string_split(job_folder, '/') as parts from worker_file) as w
    cross join (select distinct cluster, string_split(folder, '/') as parts from ais_file) as f
),
beside as (
    select job_id, cluster
    from pair
    where shared_depth >= depth - (select value from threshold where name = 'beside_levels')
        and shared_depth > 1
    group by job_id, cluster, shared_depth
    qualify shared_depth = max(shared_depth) over (partition by job_id)
)
select
    j.job_id,
    j.is_ais_user,
    b.cluster
from job as j
left join beside as b on b.job_id = j.job_id
