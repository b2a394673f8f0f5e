-- A rank whose call differs from the others' at one sequence number of a group: another operation,
-- size or type.
-- grain: one row a job, group and rank, for the first number where calls differ
-- reads: fr_collective, fr_position
-- stored: yes
-- note: Only groups count of which a member has not finished what it enqueued. Sizes of gather,
-- note: scatter and all_to_all may differ between ranks, and so may the parts of all_gather; their
-- note: operation may not. Coalesced parts share a number and are compared together. is_minority:
-- note: fewer than half of the ranks called this; the first rank is not presumed right.
create or replace view fr_mismatch as
with call as (
    select
        c.job_id, c.path_attempt, c.group_key, c.seq_num, c.rank,
        string_agg(c.operation, '+' order by c.place_no) as operation,
        string_agg(
            case when regexp_matches(c.operation, 'gather|scatter|all_?to_?all')
                and not regexp_matches(c.operation,
                    '^_?(all_?gather|reduce_scatter)_(base|into_tensor)|^_?(reduce_scatter'
                        '|all_?gather)_tensor')
                    then ''
                else coalesce(c.input_sizes, '') || coalesce(c.output_sizes, '') end,
            '+' order by c.place_no)
            as sizes,
        string_agg(
            case when regexp_matches(c.operation, '^(gather|scatter|all_?to_?all)') then ''
                else coalesce(c.input_dtypes, '') || coalesce(c.output_dtypes, '') end,
            '+' order by c.place_no)
            as types,
        min(c.file_id) as file_id, min(c.place_no) as place_no, arg_min(c.text, c.place_no) as text
    from fr_collective as c
    where c.is_used and not c.is_p2p and c.seq_num is not null
        and (c.job_id, c.path_attempt, c.group_key) in (
            select job_id, path_attempt, group_key from fr_position
            where last_enqueued > last_completed and not is_p2p_group)
    group by c.job_id, c.path_attempt, c.group_key, c.seq_num, c.rank
),
compared as (
    select
        *,
        count(*) over number as rank_count,
        min(operation) over number <> max(operation) over number as is_operation,
        min(sizes) over number <> max(sizes) over number as is_size,
        min(types) over number <> max(types) over number as is_type,
        count(*)
            over (partition by job_id, path_attempt, group_key, seq_num, operation, sizes, types)
                as alike_count
    from call
    window number as (partition by job_id, path_attempt, group_key, seq_num)
),
first_number as (
    select job_id, path_attempt, group_key, min(seq_num) as seq_num
    from compared
    where is_operation or is_size or is_type
    group by job_id, path_attempt, group_key
)
select
    c.job_id, c.path_attempt, c.group_key, c.seq_num, c.rank,
    case when c.is_operation then 'operation' when c.is_size then 'size' else 'type' end as aspect,
    c.operation, c.sizes, c.types, c.alike_count, c.rank_count,
    c.alike_count * 2 < c.rank_count
        and c.alike_count < max(c.alike_count)
            over (partition by c.job_id, c.path_attempt, c.group_key) as is_minority,
    c.file_id, c.place_no, c.text
from compared as c
join first_number as f on f.job_id = c.job_id and f.path_attempt = c.path_attempt
    and f.group_key = c.group_key and f.seq_num = c.seq_num
