-- The ranks of a failed attempt called different things at one sequence number, and no call has the majority.
-- grain: one row a failed attempt whose calls are split
-- reads: rank_position, stuck_collective
-- stored: yes
-- note: Only operations that need one size on all ranks: who scatters, gathers, sends or exchanges uneven parts may differ rightly.
create or replace view call_split as
with call as (
    select p.job_id, p.attempt, p.rank, p.op_type || ' of ' || coalesce(p.numel_in::varchar, '?') || ' elements' as shape, p.file_id, p.line_no
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt and c.seq_num = p.seq_num
    where p.op_type is not null and p.numel_in is not null
        and not regexp_matches(p.op_type, 'ALL_?TO_?ALL|SEND|RECV|GATHER$|^SCATTER|COALESCED|P2P')
),
shape as (
    select job_id, attempt, shape, count(*) as rank_count, list(rank order by rank) as ranks, min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no
    from call
    group by job_id, attempt, shape
)
select
    job_id,
    attempt,
    string_agg(shape || ' on rank' || case when rank_count > 1 then 's ' else ' ' end || array_to_string(ranks[1:8], ', ') || case when rank_count > 8 then ' and more' else '' end, '; ' order by shape) as words,
    arg_max(file_id, rank_count) as file_id,
    arg_max(line_no, rank_count) as line_no
from shape
group by job_id, attempt
having count(*) > 1 and max(rank_count) * 2 <= sum(rank_count)
