-- A collective that a rank waited in until its watchdog spoke, with the process group that it
-- belongs to.
-- grain: one row a rank of a job attempt and sequence number
-- reads: failure_signal
-- stored: yes
-- note: `Watchdog caught` names no group up to PyTorch 2.13; the line after it does, and both carry
-- note: the rank and the sequence number. The same number in two groups of one rank cannot be told
-- note: apart. Where the line after it is missing, the group is that of the ranks that wait for the
-- note: same operation of that number and size, if all of them are in one.
create or replace view group_wait as
with stated as (
    select
        job_id, attempt, rank, seq_num,
        max(regexp_extract(process_group, '^([^( ]+)', 1)) as guid,
        max(process_group) as process_group
    from failure_signal
    where signal = 'timeout' and process_group is not null and seq_num is not null
    group by job_id, attempt, rank, seq_num
),
caught as (
    select distinct job_id, attempt, rank, seq_num, op_type, numel_in
    from failure_signal
    where signal = 'timeout' and seq_num is not null and op_type is not null
        and numel_in is not null
),
alike as (
    select c.job_id, c.attempt, c.seq_num, c.op_type, c.numel_in, min(s.guid) as guid,
        min(s.process_group) as process_group
    from caught as c
    join stated as s on s.job_id = c.job_id and s.attempt = c.attempt
        and s.rank is not distinct from c.rank and s.seq_num = c.seq_num
    group by c.job_id, c.attempt, c.seq_num, c.op_type, c.numel_in
    having count(distinct s.guid) = 1
)
select
    job_id,
    attempt,
    rank,
    seq_num,
    guid,
    process_group
from stated
union all
select
    c.job_id,
    c.attempt,
    c.rank,
    c.seq_num,
    min(a.guid),
    min(a.process_group)
from caught as c
join alike as a on a.job_id = c.job_id and a.attempt = c.attempt and a.seq_num = c.seq_num
    and a.op_type = c.op_type and a.numel_in = c.numel_in
anti join stated as s on s.job_id = c.job_id and s.attempt = c.attempt
    and s.rank is not distinct from c.rank and s.seq_num = c.seq_num
group by c.job_id, c.attempt, c.rank, c.seq_num
having count(distinct a.guid) = 1
