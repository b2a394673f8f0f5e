-- A rank's error that names one rank: of its own program, where the errors of all ranks name the
-- same one, or of a comparison of models or shapes.
-- grain: one row a rank whose error names another or itself
-- reads: rank_crash, worker_event
-- case: yes
-- note: A check that all ranks make together (parameters, losses, shards) fails on all of them
-- note: alike and says whose part is wrong. Rank 0 is mostly named as the one that all compare
-- note: with, and accused by nobody so.
create or replace view shared_accusation as
with worded as (
    select job_id, attempt, rank, file_id, line_no, text,
        list_distinct(
            regexp_extract_all(coalesce(message, text), '(?i)\brank[ =:#]{0,2}(\d{1,5})\b',
                1)::integer[])
            as peer_ranks
    from rank_crash
    where pattern = 'python_exception'
)
select job_id, attempt, rank, peer_ranks[1] as peer_rank, file_id, line_no, text
from worded
where len(peer_ranks) = 1 and peer_ranks[1] <> 0
qualify count(distinct peer_rank) over (partition by job_id, attempt) = 1
    and count(*) over (partition by job_id, attempt) > 2
union all
select job_id, attempt, rank,
    regexp_extract(message, 'while rank (\d+) has inconsistent', 1)::integer as peer_rank, file_id,
    line_no, text
from rank_crash
where pattern = 'ddp_model_differs' and regexp_matches(message, 'while rank \d+ has inconsistent')
union all
select job_id, attempt, rank,
    regexp_extract(message, 'same param in process (\d+)', 1)::integer as peer_rank, file_id,
    line_no, text
from rank_crash
where pattern = 'ddp_model_differs' and regexp_matches(message, 'same param in process \d+')
qualify count(*)
    over (partition by job_id, attempt, regexp_extract(message, ' with sizes (\[.*?\]) ', 1))
        >= greatest(2, max(rank) over (partition by job_id, attempt))
union all
select e.job_id, e.attempt, e.rank, e.peer_rank, e.file_id, e.line_no, e.text
from (
    select
        job_id, attempt, rank, peer_rank, file_id, line_no, text,
        count(*)
            over (partition by job_id, attempt, rank,
                json_extract_string(capture, '$.tensor_shape'))
                as alike_count,
        count(*) over (partition by job_id, attempt, rank) as listed_count
    from worker_event
    where pattern = 'accelerate_input_shape' and rank is not null
) as e
where e.alike_count * 2 < e.listed_count
