-- A rank that stands in an operation which another rank has not entered, by their Flight Recorder dumps.
-- grain: one row a waiting rank, its last record and a rank it waits for
-- reads: fr_collective, fr_position
-- stored: yes
-- note: Only the last record of a rank counts: whoever enqueued something after an operation was not held up by it. A send or receive waits for its peer where the peer has no unfinished one with it. Group ranks are mapped through the members of the group.
create or replace view fr_wait as
with last_record as (
    select job_id, path_attempt, rank, group_key, process_group, seq_num, p2p_seq_num, operation, is_p2p, peer_rank, created_ns, file_id, place_no, text
    from fr_collective
    where is_used
    qualify row_number() over (partition by job_id, path_attempt, rank order by record_id desc nulls last, place_no desc) = 1 and not is_finished
),
open_p2p as (
    select distinct job_id, path_attempt, rank, peer_rank
    from fr_collective
    where is_used and is_p2p and not is_finished and peer_rank is not null
)
select
    l.job_id, l.path_attempt, l.rank, p.rank as peer_rank, l.group_key, l.process_group, l.seq_num, l.operation, false as is_p2p, not p.has_dump as is_peer_unknown, l.created_ns, l.file_id, l.place_no, l.text
from last_record as l
join fr_position as p on p.job_id = l.job_id and p.path_attempt = l.path_attempt and p.group_key = l.group_key and p.rank <> l.rank
where not l.is_p2p and (p.last_enqueued < l.seq_num or not p.has_dump)
union all
select
    l.job_id, l.path_attempt, l.rank, l.peer_rank, l.group_key, l.process_group, l.p2p_seq_num as seq_num, l.operation, true as is_p2p, not p.has_dump as is_peer_unknown, l.created_ns, l.file_id, l.place_no, l.text
from last_record as l
join fr_position as p on p.job_id = l.job_id and p.path_attempt = l.path_attempt and p.group_key = l.group_key and p.rank = l.peer_rank
where l.is_p2p and l.peer_rank <> l.rank
    and not exists (select 1 from open_p2p as o where o.job_id = l.job_id and o.path_attempt = l.path_attempt and o.rank = l.peer_rank and o.peer_rank = l.rank)
