-- A collective that a rank waited in until its watchdog spoke, with the process group that it belongs to.
-- grain: one row a rank of a job attempt and sequence number
-- reads: failure_signal
-- stored: yes
-- note: `Watchdog caught` names no group up to PyTorch 2.13; the line after it does, and both carry the rank and the sequence number. The same number in two groups of one rank cannot be told apart.
create or replace view group_wait as
select
    job_id, attempt, rank, seq_num,
    max(regexp_extract(process_group, '^([^( ]+)', 1)) as guid,
    max(process_group) as process_group
from failure_signal
where signal = 'timeout' and process_group is not null and seq_num is not null
group by job_id, attempt, rank, seq_num
