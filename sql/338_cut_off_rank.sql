-- A rank that lost a connection in the call in which others ran into their time-out.
-- grain: one row a rank of a failed attempt
-- reads: failure_signal, rank_position
-- case: yes
-- note: It stood there and most likely waited: gloo closes the connections of all ranks when the
-- note: first gives up. Who comes late finds them closed as well, so it is no proof.
create or replace view cut_off_rank as
select distinct s.job_id, s.attempt, s.rank
from failure_signal as s
join rank_position as p on p.job_id = s.job_id and p.attempt = s.attempt and p.is_waiting
    and p.user_location = s.user_location
where s.signal = 'victim' and s.is_peer_lost and s.rank is not null
