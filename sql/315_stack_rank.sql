-- Where a rank of a job stood in the newest stack of it.
-- grain: one row a process of a rank, or one whose rank nothing tells
-- reads: stack_stand
-- stored: yes
-- note: Workers of a DataLoader, helpers and launchers are no ranks.
create or replace view stack_rank as
with trainer as (
    select *, coalesce(attempt, 0) as attempt_no, coalesce(stated_rank, path_rank) as rank
    from stack_stand
    where told_kind is null
)
select
    job_id, attempt_no as attempt, rank, activity, taken_ns, file_id, line_no,
    min(taken_ns) over own as first_taken_ns,
    min(file_id) over own as first_file_id,
    min(host) over own as host
from trainer
window own as (partition by job_id, attempt_no, rank, case when rank is null then pid end)
qualify row_number() over (own order by taken_ns desc, file_id desc, dump_no desc) = 1
