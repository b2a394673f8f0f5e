-- A Flight Recorder dump, whose it is, and whether the analysis stands on it.
-- grain: one row a dump
-- reads: flight_dump, worker_file, ingested_file, clock_worker
-- public: yes
-- stored: yes
-- note: state: used; second (another dump of the rank is newer or says more); earlier_run (its last
-- note: moment lies before the newest dump or the job's log begins); unreadable; no_rank. A dump
-- note: states neither rank nor host: the groups it lists tell the rank where they leave only one,
-- note: else the file name; the host may be the folder.
create or replace view fr_dump as
with dump as (
    select
        f.file_id, f.path, f.job_id, f.path_attempt, coalesce(d.rank, f.path_rank) as rank,
        coalesce(d.rank_source, case when f.path_rank is not null then 'name' end) as rank_source,
        d.name_rank,
        coalesce(d.host,
            nullif(
                regexp_extract(substr(f.path, len(f.job_folder) + 2),
                    '^((?:[A-Za-z][A-Za-z0-9.-]*[0-9])[A-Za-z0-9.-]*)/', 1),
                ''))
            as host,
        d.format_version, d.is_json, d.backend, d.comm_lib_version, d.entry_count, d.has_stacks,
        d.first_ns, d.last_ns, d.modified_ns,
        i.problem, d.file_id is not null as is_readable
    from worker_file as f
    join ingested_file as i on i.file_id = f.file_id
    left join flight_dump as d on d.file_id = f.file_id
    where f.kind = 'flight_recorder'
),
newest as (
    select job_id, path_attempt, max(last_ns) as last_ns,
        arg_max(first_ns, last_ns) filter (where entry_count >= 2) as first_ns
    from dump
    group by job_id, path_attempt
),
log as (
    select f.job_id, f.path_attempt,
        min(f.first_ns - case when f.is_utc then 0 else c.shift_ns end) as first_ns
    from worker_file as f
    join clock_worker as c on c.file_id = f.file_id
    where f.kind = 'worker_log' and f.first_ns is not null
    group by f.job_id, f.path_attempt
),
judged as (
    select
        d.*,
        case
            when not d.is_readable then 'unreadable'
            when d.last_ns < n.first_ns - 10000000000 or d.last_ns < n.last_ns - 3600000000000
                or d.last_ns < l.first_ns - 60000000000 then 'earlier_run'
            when d.rank is null then 'no_rank'
        end as fault
    from dump as d
    join newest as n on n.job_id = d.job_id and n.path_attempt = d.path_attempt
    left join log as l on l.job_id = d.job_id and l.path_attempt = d.path_attempt
),
numbered as (
    select
        *,
        row_number() over (
            partition by job_id, path_attempt, rank, fault
            order by last_ns desc nulls last, entry_count desc, has_stacks desc, is_json, path
        ) as copy_no
    from judged
)
select
    file_id, path, job_id, path_attempt, rank, rank_source, name_rank, host, format_version,
    is_json, backend, comm_lib_version, entry_count, has_stacks,
    coalesce(fault, case when copy_no > 1 then 'second' else 'used' end) as state,
    problem,
    make_timestamp_ns(first_ns) as first_at,
    make_timestamp_ns(last_ns) as last_at,
    first_ns,
    last_ns,
    modified_ns
from numbered
