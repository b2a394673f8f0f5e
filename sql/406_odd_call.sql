-- What a rank called where most others called something else: another operation, size or type.
-- grain: one row a rank of a failed attempt that differs from a majority
-- reads: compared_call, rank_position, stuck_collective, fr_mismatch, fr_failure
-- case: yes
-- note: What PyTorch compared itself goes before Flight Recorder dumps, and these, which know types
-- note: and the numbers before the one that got stuck, before time-out lines. Where no number
-- note: stands in the logs (tracebacks of gloo), functions of torch.distributed and the lines of
-- note: the program that called them are compared.
create or replace view odd_call as
with dumped as (
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
        p.job_id, p.attempt, p.rank, p.seq_num,
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
),
counted as (
    select
        job_id, attempt, rank, seq_num, shape,
        count(*) over (partition by job_id, attempt, shape) as shape_count,
        count(*) over (partition by job_id, attempt) as rank_count
    from printed
),
call as (
    select job_id, attempt, rank, seq_num, shape, shape_count, is_minority, witness_place
        from dumped
    union all
    select job_id, attempt, rank, seq_num, shape, shape_count,
        shape_count * 2 < rank_count as is_minority, 3 as witness_place
        from counted
),
majority as (
    select job_id, attempt, witness_place, arg_max(shape, (shape_count, shape)) as shape
    from call
    where not is_minority
    group by job_id, attempt, witness_place
),
odd as (
    select job_id, attempt, rank, seq_num, shape, others_shape, 1 as witness_place
        from compared_call where rank is not null
    union all
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
    'called ' || shape || ' where the others called '
        || case when split_part(shape, ' of ', 1) = split_part(others_shape, ' of ', 1)
            and contains(shape, ' of ') then 'one'
                || substr(others_shape, position(' of ' in others_shape))
            else others_shape end
        || coalesce(', at sequence number ' || seq_num::varchar, '') as words
from odd
qualify row_number() over (partition by job_id, attempt, rank order by witness_place) = 1
