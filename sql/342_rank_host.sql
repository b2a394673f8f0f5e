-- On which host each rank of a failed attempt ran, as far as its lines, its log file or its number
-- tell.
-- grain: one row a rank of a failed attempt
-- reads: failed_rank, job
-- case: yes
-- note: place is the same for ranks of one host: where the job says how many ranks a host has, what
-- note: the rank's number tells, else its host, else its log file. A host without its domain is
-- note: that of the rank's own lines, or the only one of its log file or of its place.
create or replace view rank_host as
with numbered as (
    select r.job_id, r.attempt, r.rank, r.file_id, split_part(r.host, '.', 1) as host, r.is_absent,
        case when not r.is_absent then r.rank // nullif(j.ranks_per_node, 0) end as node_no
    from failed_rank as r
    left join job as j on j.job_id = r.job_id and j.attempt = r.attempt and j.node_count > 1
),
counted as (
    select *, bool_or(is_split) over (partition by job_id, attempt) as is_miscounted
    from (select *, node_no is not null
        and min(host) over node is distinct from max(host) over node as is_split
        from numbered window node as (partition by job_id, attempt, node_no))
),
filed as (
    select
        job_id, attempt, rank, file_id, is_absent,
        case when not is_miscounted then node_no end as node_no,
        coalesce(host,
            case when min(host) over log = max(host) over log
                and min(node_no) over log is not distinct from max(node_no) over log
                    then min(host) over log end)
            as host
    from counted
    window log as (partition by job_id, attempt, file_id)
),
placed as (
    select
        job_id, attempt, rank, file_id,
        case when node_no is null then host
            when min(host) over node = max(host) over node then min(host) over node end
            as host,
        case
            when not is_absent
                then coalesce('node ' || node_no::varchar, host, 'file ' || file_id::varchar) end
            as place
    from filed
    window node as (partition by job_id, attempt, node_no)
)
select
    job_id, attempt, rank, file_id, host, place,
    count(*) over (partition by job_id, attempt, place) as place_count,
    count(place) over (partition by job_id, attempt) as seen_count,
    count(*) over (partition by job_id, attempt) as rank_count
from placed
