-- What the rank that most others accuse called, and what they did, as PyTorch itself compared the
-- calls.
-- grain: at most one row a failed attempt
-- reads: failure_signal
-- stored: yes
-- note: With TORCH_DISTRIBUTED_DEBUG=DETAIL each rank names the first one whose call differs from
-- note: its own: the odd rank is named by all others, and names one of them. Nobody is odd where
-- note: two are named as often, nor where only one rank's comparison is available: of a pair either
-- note: may be the odd one (pair_words).
create or replace view compared_call as
with named as (
    select
        job_id, attempt, rank as reporter, peer_rank as rank, seq_num, op_type,
        json_extract_string(capture, '$.peer_op_type') as peer_op_type,
        json_extract_string(capture, '$.tensor_shape') as tensor_shape,
        json_extract_string(capture, '$.peer_shape') as peer_shape,
        json_extract_string(capture, '$.tensor_dtype') as dtype,
        json_extract_string(capture, '$.peer_dtype') as peer_dtype
    from failure_signal
    where pattern = 'c10d_detail_mismatch' and peer_rank is not null
),
worded as (
    select
        job_id, attempt, reporter, rank, seq_num,
        case
            when peer_op_type <> op_type then peer_op_type
            when peer_shape <> tensor_shape then peer_op_type || ' of [' || peer_shape || ']'
            when peer_dtype <> dtype then peer_op_type || ' of type ' || peer_dtype
        end as shape,
        case
            when peer_op_type <> op_type then op_type
            when peer_shape <> tensor_shape then op_type || ' of [' || tensor_shape || ']'
            when peer_dtype <> dtype then op_type || ' of type ' || dtype
        end as others_shape
    from named
),
accused as (
    select
        job_id, attempt, rank,
        min(seq_num) as seq_num,
        arg_min(shape, (seq_num, reporter)) as shape,
        arg_min(others_shape, (seq_num, reporter)) as others_shape,
        count(distinct reporter) as reporter_count
    from worded
    where shape is not null
    group by job_id, attempt, rank
)
select
    job_id,
    attempt,
    arg_max(rank, reporter_count) as rank,
    arg_max(seq_num, reporter_count) as seq_num,
    arg_max(shape, reporter_count) as shape,
    arg_max(others_shape, reporter_count) as others_shape,
    null::varchar as pair_words
from accused
group by job_id, attempt
having max(reporter_count) >= 2
    and (count(*) = 1 or max(reporter_count) > max(reporter_count, 2)[2])
union all by name
select
    a.job_id,
    a.attempt,
    any_value(a.seq_num) as seq_num,
    arg_min(
        'ranks ' || w.reporter::varchar || ' and ' || a.rank::varchar || ' called different things'
        || coalesce(' under sequence number ' || a.seq_num::varchar, '') || ': ' || w.others_shape
        || ' and ' || w.shape, w.reporter
    ) as pair_words
from accused as a
join worded as w on w.job_id = a.job_id and w.attempt = a.attempt and w.rank = a.rank
group by a.job_id, a.attempt
having max(a.reporter_count) = 1
