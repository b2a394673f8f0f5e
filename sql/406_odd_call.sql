-- What a rank called where most others called something else: another operation, size or type.
-- grain: one row a rank of a failed attempt that differs from a majority, or (rank null) an attempt
-- grain: of which either rank of a pair may be the odd one
-- reads: failure_signal, rank_position, stuck_collective, fr_mismatch, fr_failure
-- case: yes
-- note: What PyTorch compared itself goes before Flight Recorder dumps, and these, which know types
-- note: and the numbers before the one that got stuck, before time-out lines. With
-- note: TORCH_DISTRIBUTED_DEBUG=DETAIL each rank names the first one whose call differs from its
-- note: own: the odd rank is named by all others, and names one of them; nobody is odd where two
-- note: are named as often. Where no number stands in the logs (tracebacks of gloo), functions of
-- note: torch.distributed and the lines of the program that called them are compared; where sizes
-- note: did not fit, also those of the ranks that lost the one that found it.
create or replace view odd_call as
with named as (
    select
        job_id, attempt, rank as reporter, peer_rank as rank, seq_num, op_type,
        json_extract_string(capture, '$.peer_op_type') as peer_op_type,
        json_extract_string(capture, '$.tensor_shape') as size,
        json_extract_string(capture, '$.peer_shape') as peer_size,
        json_extract_string(capture, '$.tensor_dtype') as dtype,
        json_extract_string(capture, '$.peer_dtype') as peer_dtype,
        case
            when peer_op_type <> op_type then ['', '']
            when peer_size <> size then [' of [' || peer_size || ']', ' of [' || size || ']']
            when peer_dtype <> dtype then [' of type ' || peer_dtype, ' of type ' || dtype]
        end as aspect
    from failure_signal
    where pattern = 'c10d_detail_mismatch' and peer_rank is not null
),
accused as (
    select
        job_id, attempt, rank,
        min(seq_num) as seq_num,
        arg_min(peer_op_type || aspect[1], (seq_num, reporter)) as shape,
        arg_min(op_type || aspect[2], (seq_num, reporter)) as others_shape,
        min(reporter) as reporter,
        count(distinct reporter) as reporter_count
    from named
    where aspect is not null and peer_op_type is not null
    group by job_id, attempt, rank
),
compared as (
    select
        job_id, attempt,
        if(max(reporter_count) > 1, arg_max(rank, reporter_count), null) as rank,
        arg_max(seq_num, reporter_count) as seq_num,
        arg_max(shape, reporter_count) as shape,
        arg_max(others_shape, reporter_count) as others_shape,
        arg_min(
            'ranks ' || reporter::varchar || ' and ' || rank::varchar || ' called different things'
            || coalesce(' under sequence number ' || seq_num::varchar, '') || ': ' || others_shape
            || ' and ' || shape, reporter
        ) as pair_words,
        1 as witness_place
    from accused
    group by job_id, attempt
    having max(reporter_count) = 1 or count(*) = 1
        or max(reporter_count) > max(reporter_count, 2)[2]
),
dumped as (
    select
        f.job_id, f.attempt, m.rank, m.is_minority, m.seq_num, m.alike_count as shape_count,
        2 as witness_place,
        case m.aspect
            when 'operation' then m.operation
            when 'size' then m.operation || ' of '
                || regexp_extract(m.sizes, '^(\[\[.*?\]\]|.*)', 1)
            else m.operation || ' of type '
                || array_to_string(regexp_extract_all(m.types, '\w+')[1:1], '')
        end as shape
    from fr_mismatch as m
    join fr_failure as f on f.job_id = m.job_id and f.path_attempt = m.path_attempt
        and f.group_key = m.group_key
),
printed as (
    select
        p.job_id, p.attempt, p.rank, p.is_waiting, p.seq_num,
        coalesce(p.op_type, p.collective, 'a collective inside PyTorch')
            || coalesce(' of ' || format('{:,}', p.numel_in) || ' elements',
                case when p.seq_num is null
                    and not regexp_matches(coalesce(p.collective, ''), '^i?(send|recv)$')
                        then ' at ' || regexp_extract(p.user_location, '[^/]+$') end,
                '')
                as shape
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt
    where (coalesce(p.op_type, p.collective) is not null
        or (p.seq_num is null and p.user_location is not null))
        and p.seq_num is not distinct from c.seq_num
    union all
    select job_id, attempt, rank, true, null,
        collective || ' at ' || regexp_extract(user_location, '[^/]+$')
    from failure_signal
    where rank is not null and signal = 'victim' and is_peer_lost
        and collective is not null and user_location is not null
        and (job_id, attempt) in (select job_id, attempt from failure_signal
            where pattern = 'gloo_size_mismatch')
        and (job_id, attempt) not in (select job_id, attempt from stuck_collective)
),
counted as (
    select
        job_id, attempt, rank, is_waiting, seq_num, shape,
        count(*) over (partition by job_id, attempt, shape) as shape_count,
        count(*) over (partition by job_id, attempt) as rank_count
    from printed
),
call as (
    select job_id, attempt, rank, seq_num, shape, shape_count, is_minority, witness_place
        from dumped
    union all
    select job_id, attempt, rank, seq_num, shape, shape_count,
        is_waiting and shape_count * 2 < rank_count as is_minority, 3 as witness_place
        from counted
),
majority as (
    select job_id, attempt, witness_place, arg_max(shape, (shape_count, shape)) as shape
    from call
    where not is_minority
    group by job_id, attempt, witness_place
),
odd as (
    from compared
    union all by name
    select c.job_id, c.attempt, c.rank, c.seq_num, c.shape, m.shape as others_shape, c.witness_place
    from call as c
    join majority as m on m.job_id = c.job_id and m.attempt = c.attempt
        and m.witness_place = c.witness_place
    where c.is_minority
)
select
    job_id,
    attempt,
    rank,
    seq_num,
    shape,
    others_shape,
    case when rank is null then pair_words else 'called ' || shape || ' where the others called '
        || case when split_part(shape, ' of ', 1) = split_part(others_shape, ' of ', 1)
            and contains(shape, ' of ') then 'one'
                || substr(others_shape, position(' of ' in others_shape))
            else others_shape end
        || coalesce(', at sequence number ' || seq_num::varchar, '') end as words
from odd
qualify row_number() over (partition by job_id, attempt, rank order by witness_place) = 1
