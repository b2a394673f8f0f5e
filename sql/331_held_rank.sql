-- A rank that timed out in a collective of another process group than the one that stood still first: it waits as well.
-- grain: one row a rank of a failed attempt
-- reads: failure_signal, rank_position
-- stored: yes
-- note: In a job of several groups (tensor, pipeline, data parallel) one absent rank stops its own groups, and these stop others. Who waits anywhere is not the one that all wait for.
create or replace view held_rank as
select distinct s.job_id, s.attempt, s.rank
from failure_signal as s
left join rank_position as p on p.job_id = s.job_id and p.attempt = s.attempt and p.rank = s.rank and p.is_waiting
where s.signal = 'timeout' and s.rank is not null and p.rank is null
