-- How many ranks a job attempt has, as far as its lines tell, and whether one of them states it.
-- grain: one row a job attempt with a line
-- reads: worker_event, worker_file, worker_tail
-- stored: yes
-- note: A size that is no larger than a rank that was seen is of another group, and states nothing.
-- note: Nodes times processes a node state the size as well. Else the size is at least: the highest
-- note: rank seen plus one, the members of any communicator, and what an all-gather or
-- note: reduce-scatter multiplies or divides a tensor by.
create or replace view job_world as
with alike as (
    select
        job_id, attempt, file_id, world_size, max(rank) as rank, min(line_no) as line_no,
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
),
told as (
    select
        job_id, attempt, rank, world_size, file_id, line_no,
        coalesce(try_cast(json_extract_string(told, '$.comm_size') as integer), tensor_ratio)
            as group_size,
        try_cast(coalesce(
            json_extract_string(told, '$.node_count'),
            json_extract_string(told, '$.min_nodes'),
            json_extract_string(told, '$.nodes')
        ) as integer) as node_count,
        try_cast(coalesce(
            json_extract_string(told, '$.ranks_per_node'),
            json_extract_string(told, '$.local_world_size'),
            json_extract_string(told, '$.local_count')
        ) as integer) as ranks_per_node
    from alike
),
line as (
    select
        job_id, attempt,
        max(rank) as top_rank,
        max(world_size) as told_size,
        arg_max(file_id, (world_size, -file_id, -line_no))
            filter (where world_size is not null) as file_id,
        arg_max(line_no, (world_size, -file_id, -line_no))
            filter (where world_size is not null) as line_no,
        max(node_count) * max(ranks_per_node) as launched_size,
        min(file_id) filter (where ranks_per_node is not null) as launch_file_id,
        arg_min(line_no, (file_id, line_no))
            filter (where ranks_per_node is not null) as launch_line_no,
        max(group_size) as group_size
    from told
    group by job_id, attempt
),
tail as (
    select f.job_id, f.path_attempt + t.attempt_no as attempt, max(t.rank) as top_rank
    from worker_tail as t
    join worker_file as f on f.file_id = t.file_id
    where t.rank is not null
    group by f.job_id, f.path_attempt + t.attempt_no
),
sized as (
    select
        coalesce(l.job_id, t.job_id) as job_id, coalesce(l.attempt, t.attempt) as attempt,
        l.* exclude (job_id, attempt, top_rank),
        greatest(l.top_rank, t.top_rank) as top_rank,
        coalesce(l.told_size > coalesce(greatest(l.top_rank, t.top_rank), 0), false) as is_told,
        coalesce(l.launched_size > coalesce(greatest(l.top_rank, t.top_rank), 0), false)
            as is_launched
    from line as l
    full join tail as t on t.job_id = l.job_id and t.attempt = l.attempt
)
select
    job_id,
    attempt,
    case
        when is_told then told_size
        when is_launched then launched_size
        else greatest(top_rank + 1, group_size)
    end::integer as world_size,
    is_told or is_launched as is_stated,
    case when is_told then file_id when is_launched then launch_file_id end as file_id,
    case when is_told then line_no when is_launched then launch_line_no end as line_no
from sized
