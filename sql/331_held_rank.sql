-- A rank that timed out in a collective of another process group than the one that stood still
-- first: it waits as well.
-- grain: one row a rank of a failed attempt
-- reads: failure_signal, rank_position, stuck_collective
-- case: yes
-- note: In a job of several groups (tensor, pipeline, data parallel) one absent rank stops its own
-- note: groups, and these stop others. Who waits anywhere is not the one that all wait for. Who has
-- note: enqueued what stood still first, and completed the one before, waits in that one, though
-- note: the line of its own time-out is lost.
create or replace view held_rank as
select distinct s.job_id, s.attempt, s.rank
from failure_signal as s
left join rank_position as p on p.job_id = s.job_id and p.attempt = s.attempt and p.rank = s.rank
    and p.is_waiting
where s.signal = 'timeout' and s.rank is not null and p.rank is null
    and not exists (from rank_position as q
        join stuck_collective as c on c.job_id = q.job_id and c.attempt = q.attempt
            and q.last_enqueued >= c.seq_num and q.last_completed = c.seq_num - 1
        where q.job_id = s.job_id and q.attempt = s.attempt and q.rank = s.rank)
