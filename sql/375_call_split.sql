-- The ranks of a failed attempt wait in different calls, and no call of another is the odd one.
-- grain: one row a failed attempt whose calls are split
-- reads: rank_position, stuck_collective, failure_signal
-- case: yes
-- note: Three ways: no call at one number has the majority; ranks wait for a message while all
-- note: others stand in one collective (who waits is not at fault then, and the logs do not name
-- note: who was to send); ranks wait in collectives of different numbers, so that no two of these
-- note: wait for each other. Calls of several groups are not compared: time-outs of one rank at
-- note: more than one number, in lines that name no group (up to PyTorch 2.2, whose rank is that
-- note: within the group), are of several.
create or replace view call_split as
with grouped as (
    select distinct job_id, attempt
    from failure_signal
    where signal = 'timeout' and process_group is null
    group by job_id, attempt, rank
    having count(distinct seq_num) > 1
),
position as (
    select p.*, c.seq_num as stuck_seq_num
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt
    anti join grouped as g on g.job_id = p.job_id and g.attempt = p.attempt
),
call as (
    select
        job_id, attempt, rank, op_type, seq_num, file_id, line_no, 'size' as way,
        op_type || ' of ' || coalesce(numel_in::varchar, '?') || ' elements' as shape,
        regexp_matches(op_type, 'SEND|RECV') as is_message
    from position
    where seq_num = stuck_seq_num and op_type is not null and numel_in is not null
        and not regexp_matches(op_type, 'ALL_?TO_?ALL|GATHER$|^SCATTER|COALESCED|P2P')
    union all by name
    select
        job_id, attempt, rank, collective as op_type, seq_num, file_id, line_no, 'size' as way,
        collective || coalesce(' at ' || regexp_extract(user_location, '[^/]+$'), '') as shape,
        regexp_matches(collective, '^i?(send|recv)$') as is_message
    from position
    where seq_num is null and op_type is null and collective is not null
    union all by name
    select
        job_id, attempt, rank, op_type, seq_num, file_id, line_no, 'number' as way,
        op_type || ' number ' || seq_num::varchar as shape,
        false as is_message
    from position
    where is_waiting and seq_num is not null
        and not regexp_matches(op_type, 'SEND|RECV|P2P|COALESCED')
),
shape as (
    select
        job_id, attempt, way, shape, is_message,
        any_value(op_type) as op_type,
        any_value(seq_num) as seq_num,
        count(*) as rank_count,
        min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no,
        case when count(*) > 1 then 'ranks ' else 'rank ' end
        || array_to_string(list(rank order by rank)[1:8], ', ')
        || case when count(*) > 8 then ' and more' else '' end as who
    from call
    group by job_id, attempt, way, shape, is_message
),
sized as (
    select
        job_id, attempt,
        'they called ' || string_agg(shape || ' on ' || who, '; ' order by shape) as words,
        arg_max(file_id, rank_count) as file_id,
        arg_max(line_no, rank_count) as line_no,
        bool_and(seq_num is not null) as is_numbered,
        'size' as way
    from shape
    where way = 'size' and not is_message
    group by job_id, attempt
    having count(*) > 1 and max(rank_count) * 2 <= sum(rank_count)
),
numbered as (
    select
        job_id, attempt,
        string_agg(who || case rank_count when 1 then ' waits' else ' wait' end || ' in ' || shape,
            ', ' order by rank_count desc, shape)
            as words,
        arg_min(file_id, rank_count) as file_id,
        arg_min(line_no, rank_count) as line_no,
        true as is_numbered,
        'number' as way
    from shape
    where way = 'number'
    group by job_id, attempt
    having count(distinct seq_num) > 1
),
messaged as (
    select
        job_id, attempt,
        string_agg(
            who || case rank_count when 1 then ' waits' else ' wait' end || ' in ' || op_type
            || coalesce(' number ' || seq_num::varchar, ''), '; ' order by shape
        ) filter (where is_message)
        || ' for a peer that does not answer, while all others are in '
        || any_value(op_type) filter (where not is_message) as words,
        min(file_id) filter (where is_message) as file_id,
        arg_min(line_no, file_id) filter (where is_message) as line_no,
        bool_and(seq_num is not null) as is_numbered,
        'message' as way
    from shape
    where way = 'size'
    group by job_id, attempt
    having count(*) filter (where is_message) > 0 and count(*) filter (where not is_message) = 1
        and sum(rank_count) filter (where is_message) * 2 < sum(rank_count)
)
select distinct on (job_id, attempt) job_id, attempt, words, file_id, line_no, way, is_numbered
from (from sized union all by name from messaged union all by name from numbered)
order by job_id, attempt, way = 'number', way = 'message'
