-- A rank that most others name as the one they waited for or that differs, with how many do.
-- grain: one row a rank
-- reads: failure_signal, rank_crash, worker_event
-- case: yes
-- note: Peers, a barrier or a store name who is missing. A check that all ranks make together
-- note: (parameters, losses, shards) fails on all of them alike and says whose part is wrong: a
-- note: rank is accused where the errors of all ranks of its own program name the same one, or a
-- note: comparison of models or shapes names it. Rank 0 is mostly named as the one that all
-- note: compare with, and accused by nobody so.
create or replace view named_rank as
with worded as (
    select job_id, attempt, rank, file_id, line_no, text,
        list_distinct(
            regexp_extract_all(coalesce(message, text), '(?i)\brank[ =:#]{0,2}(\d{1,5})\b',
                1)::integer[])
            as peer_ranks
    from rank_crash
    where pattern = 'python_exception'
),
said as (
    select job_id, attempt, rank, peer_rank, file_id, line_no, text
    from failure_signal
    where (signal = 'names_peer' or pattern = 'gloo_address_missing')
        and peer_rank is not null
        and (peer_rank > 0 or (job_id, attempt) not in (select job_id, attempt
            from failure_signal where pattern = 'tcpstore_clients_missing'))
        and (pattern is distinct from 'c10d_detail_mismatch'
            or (job_id, attempt) in (select job_id, attempt from failure_signal
                where pattern = 'c10d_detail_mismatch'
                group by job_id, attempt having count(distinct rank) > 1))
    union all
    select job_id, attempt, rank,
        unnest(string_split(replace(coalesce(
            json_extract_string(capture, '$.missing_ranks'),
            json_extract_string(capture, '$.lagging_ranks'),
            json_extract_string(capture, '$.ranks')), ' ', ''), ','))::integer as peer_rank,
        file_id, line_no, text
    from failure_signal
    where signal = 'names_peer'
    union all
    select job_id, attempt, rank, peer_ranks[1] as peer_rank, file_id, line_no, text
    from worded
    where len(peer_ranks) = 1 and peer_ranks[1] <> 0
    qualify count(distinct peer_rank) over (partition by job_id, attempt) = 1
        and count(*) over (partition by job_id, attempt) > 2
    union all
    select job_id, attempt, rank,
        regexp_extract(message, 'while rank (\d+) has inconsistent', 1)::integer, file_id, line_no,
        text
    from rank_crash
    where pattern = 'ddp_model_differs'
        and regexp_matches(message, 'while rank \d+ has inconsistent')
    union all
    select job_id, attempt, rank,
        regexp_extract(message, 'same param in process (\d+)', 1)::integer, file_id, line_no, text
    from rank_crash
    where pattern = 'ddp_model_differs' and regexp_matches(message, 'same param in process \d+')
    qualify count(*)
        over (partition by job_id, attempt, regexp_extract(message, ' with sizes (\[.*?\]) ', 1))
            >= greatest(2, max(rank) over (partition by job_id, attempt))
    union all
    select job_id, attempt, rank, peer_rank, file_id, line_no, text
    from (
        select *,
            count(*)
                over (partition by job_id, attempt, rank,
                    json_extract_string(capture, '$.tensor_shape'))
                    as alike_count,
            count(*) over (partition by job_id, attempt, rank) as listed_count
        from worker_event
        where pattern = 'accelerate_input_shape' and rank is not null
    )
    where alike_count * 2 < listed_count
),
named as (
    select job_id, attempt, peer_rank as rank, count(distinct rank) as vote_count,
        min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no,
        arg_min(text, (file_id, line_no)) as text
    from said
    group by job_id, attempt, peer_rank
)
select job_id, attempt, rank, vote_count, file_id, line_no, text
from named
window same as (partition by job_id, attempt)
qualify vote_count = max(vote_count) over same
    and (vote_count > 1 or count(*) over same = 1
        or min(vote_count) over same = max(vote_count) over same)
