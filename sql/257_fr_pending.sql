-- An operation that a rank had enqueued and not finished when its Flight Recorder was dumped, and
-- nobody else had finished either.
-- grain: one row a rank and operation
-- reads: fr_collective, fr_group
-- stored: yes
-- note: operation_key is the same on all ranks: the number of a collective in its group; of a send
-- note: or receive its pair and its place among the unfinished ones of that pair, because each side
-- note: counts its own.
create or replace view fr_pending as
with open as (
    select
        *,
        last_value(place_no) over every as last_place_no,
        row_number()
            over (partition by job_id, path_attempt, rank, group_key, is_p2p, operation, peer_rank,
                case when not is_p2p then seq_num end order by place_no)
                as pair_no
    from fr_collective
    where is_used and not is_finished
    window every
        as (partition by job_id, path_attempt, rank
            order by place_no rows between unbounded preceding and unbounded following)
),
last_record as (
    select job_id, path_attempt, rank,
        arg_max(place_no, (coalesce(record_id, place_no), place_no)) as place_no
    from fr_collective
    where is_used
    group by job_id, path_attempt, rank
),
done as (
    select job_id, path_attempt, group_key, max(last_completed) as last_completed
    from (
        select job_id, path_attempt, group_key, rank,
            coalesce(max(done_seq), min(open_seq) - 1) as last_completed
        from (
            select job_id, path_attempt, group_key, rank, last_completed as done_seq,
                null as open_seq
            from fr_group
            where is_used and pg_id is not null
            union all
            select job_id, path_attempt, group_key, rank, if(is_finished, seq_num, null),
                if(is_finished, null, seq_num)
            from fr_collective
            where is_used and not is_p2p
        )
        group by job_id, path_attempt, group_key, rank
    )
    group by job_id, path_attempt, group_key
)
select
    o.job_id, o.path_attempt, o.rank, o.group_key, o.process_group, o.is_p2p,
    case
        when not o.is_p2p then o.seq_num::varchar
        when o.operation = 'send' then o.rank::varchar || '>' || o.peer_rank::varchar || ' '
            || o.pair_no::varchar
        else o.peer_rank::varchar || '>' || o.rank::varchar || ' ' || o.pair_no::varchar
    end as operation_key,
    case when o.is_p2p then o.p2p_seq_num else o.seq_num end as seq_num,
    o.operation, o.op_type, o.peer_rank, o.numel_in, o.numel_out, o.timeout_ms, o.user_location,
    o.created_ns,
    o.last_place_no = l.place_no and o.place_no = o.last_place_no as is_last,
    o.file_id, o.place_no, o.text
from open as o
join last_record as l on l.job_id = o.job_id and l.path_attempt = o.path_attempt and l.rank = o.rank
left join done as d on d.job_id = o.job_id and d.path_attempt = o.path_attempt
    and d.group_key = o.group_key
where (o.is_p2p and o.peer_rank <> o.rank)
    or (not o.is_p2p and o.pair_no = 1 and o.seq_num is not null
        and (d.last_completed is null or o.seq_num > d.last_completed
            or regexp_matches(o.op_type, '^_?(BROADCAST|SCATTER|GATHER|REDUCE$)')))
