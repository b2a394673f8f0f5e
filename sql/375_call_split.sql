-- The ranks of a failed attempt called different things at one sequence number, and no call of another is the odd one.
-- grain: one row a failed attempt whose calls are split
-- reads: rank_position, stuck_collective
-- stored: yes
-- note: Two ways: no collective has the majority, or ranks wait for a message while all others stand in one collective (who waits is not at fault then, and the logs do not name who was to send). Only operations that need one size on all ranks are compared: who scatters, gathers or exchanges uneven parts may differ rightly. Where no number is told, functions of torch.distributed and lines of the program are compared, which tells something only where all ranks wait.
create or replace view call_split as
with call as (
    select p.job_id, p.attempt, p.rank, p.op_type, p.op_type || ' of ' || coalesce(p.numel_in::varchar, '?') || ' elements' as shape, p.seq_num, regexp_matches(p.op_type, 'SEND|RECV') as is_message, p.file_id, p.line_no
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt and c.seq_num = p.seq_num
    where p.op_type is not null and p.numel_in is not null
        and not regexp_matches(p.op_type, 'ALL_?TO_?ALL|GATHER$|^SCATTER|COALESCED|P2P')
    union all
    select job_id, attempt, rank, collective as op_type, collective || coalesce(' at ' || regexp_extract(user_location, '[^/]+$'), '') as shape, seq_num, regexp_matches(collective, '^i?(send|recv)$') as is_message, file_id, line_no
    from rank_position
    where seq_num is null and op_type is null and collective is not null
),
shape as (
    select job_id, attempt, shape, any_value(op_type) as op_type, is_message, any_value(seq_num) as seq_num, count(*) as rank_count, list(rank order by rank) as ranks, min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no,
        case when count(*) > 1 then 'ranks ' else 'rank ' end || array_to_string(list(rank order by rank)[1:8], ', ') || case when count(*) > 8 then ' and more' else '' end as who
    from call
    group by job_id, attempt, shape, is_message
)
select
    job_id,
    attempt,
    string_agg(shape || ' on ' || who, '; ' order by shape) as words,
    arg_max(file_id, rank_count) as file_id,
    arg_max(line_no, rank_count) as line_no,
    null::varchar as message,
    bool_and(seq_num is not null) as is_numbered
from shape
where not is_message
group by job_id, attempt
having count(*) > 1 and max(rank_count) * 2 <= sum(rank_count)
union all
select
    job_id,
    attempt,
    string_agg(shape || ' on ' || who, '; ' order by shape) as words,
    min(file_id) filter (where is_message) as file_id,
    arg_min(line_no, file_id) filter (where is_message) as line_no,
    string_agg(who || case rank_count when 1 then ' waits' else ' wait' end || ' in ' || op_type || coalesce(' number ' || seq_num::varchar, ''), '; ' order by shape) filter (where is_message)
    || ' for a peer that does not answer, while all others stand in ' || any_value(op_type) filter (where not is_message) as message,
    bool_and(seq_num is not null) as is_numbered
from shape
group by job_id, attempt
having count(*) filter (where is_message) > 0 and count(*) filter (where not is_message) = 1 and sum(rank_count) filter (where is_message) * 2 < sum(rank_count)
