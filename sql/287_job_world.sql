-- How many ranks a job attempt has, as far as its lines tell, and whether one of them states it.
-- grain: one row a job attempt with a line
-- reads: worker_event, worker_file, worker_tail
-- stored: yes
-- note: A size that is no larger than a rank that was seen is of another group, and states nothing.
-- note: Nodes times processes a node state the size as well. Else the size is at least: the highest
-- note: rank seen plus one, the members of any communicator, and what an all-gather or
-- note: reduce-scatter multiplies or divides a tensor by.
create or replace view job_world as
with said as (
    select
        job_id, attempt, world_size, max(rank) as rank,
        case when regexp_matches(capture,
            '"(comm_size|node_count|min_nodes|nodes|ranks_per_node|local_world_size|local_count)"')
            then capture end as told,
        case when contains(op_type, 'GATHER') and numel_out % nullif(numel_in, 0) = 0
            then numel_out // numel_in
            when contains(op_type, 'REDUCE_SCATTER') and numel_in % nullif(numel_out, 0) = 0
                then numel_in // numel_out end
            as tensor_ratio
    from worker_event
    group by all
    union all by name
    select f.job_id, f.path_attempt + t.attempt_no as attempt, t.rank
    from worker_tail as t
    join worker_file as f on f.file_id = t.file_id
    where t.rank is not null
),
sized as (
    select
        job_id, attempt, max(rank) as top_rank, max(world_size) as told_size,
        max(try_cast(coalesce(
            json_extract_string(told, '$.node_count'), json_extract_string(told, '$.min_nodes'),
            json_extract_string(told, '$.nodes')
        ) as integer)) * max(try_cast(coalesce(
            json_extract_string(told, '$.ranks_per_node'),
            json_extract_string(told, '$.local_world_size'),
            json_extract_string(told, '$.local_count')
        ) as integer)) as launched_size,
        max(coalesce(try_cast(json_extract_string(told, '$.comm_size') as integer), tensor_ratio))
            as group_size
    from said
    group by job_id, attempt
)
select
    job_id,
    attempt,
    case
        when told_size > coalesce(top_rank, 0) then told_size
        when launched_size > coalesce(top_rank, 0) then launched_size
        else greatest(top_rank + 1, group_size)
    end::integer as world_size,
    coalesce(greatest(told_size, launched_size) > coalesce(top_rank, 0), false) as is_stated
from sized
