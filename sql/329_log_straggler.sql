-- The only rank of a log that did not report the time-out which the other ranks of this log report.
-- grain: one row a log and attempt
-- reads: job_span, failure_signal
-- case: yes
-- note: A stack without a name in that log is taken for its. Where every log is of as many ranks,
-- note: in order, a log stands for the block of ranks that its reports lie in. Worked example: four
-- note: logs of a job of 32 ranks; one holds reports of the ranks 25 to 31: rank 24 is its
-- note: straggler.
create or replace view log_straggler as
with told as (
    select job_id, attempt, file_id, list(distinct rank) as ranks
    from failure_signal
    where signal = 'timeout' and rank is not null
    group by job_id, attempt, file_id
),
block as (
    select
        t.job_id, t.attempt, t.file_id, t.ranks, f.world_size,
        count(*) over (partition by t.job_id, t.attempt) as log_count,
        nullif(f.world_size // log_count, 0) as size, list_min(t.ranks) // size * size as first_rank
    from told as t
    join job_span as f on f.job_id = t.job_id and f.attempt = t.attempt
)
select job_id, attempt, file_id,
    list_filter(range(first_rank, first_rank + size),
        lambda r: not list_contains(ranks, r::integer))[1]::integer
        as rank
from block
where world_size % log_count = 0 and len(ranks) = size - 1 and list_max(ranks) < first_rank + size
