-- A rank that the Flight Recorder dumps point at as the one that kept its group waiting.
-- grain: one row a job, group, rank and basis
-- reads: fr_group_state, fr_position, fr_mismatch, fr_wait
-- stored: yes
-- note: Per group the least enqueued is behind, where all enqueued the same the least completed is unfinished; where most are behind the few that are ahead diverged, unless theirs was the root's part of a broadcast, scatter or reduce. is_held: the rank itself stands in an operation that another one behind has not entered, so it is no first cause; two that hold each other entered two groups in opposite order.
create or replace view fr_suspect as
with placed as (
    select
        p.job_id, p.path_attempt, p.group_key, p.rank, p.last_enqueued, p.last_completed, g.stuck_seq, g.op_type, g.min_enqueued, g.max_enqueued, g.min_completed, g.max_completed, p.file_id, p.place_no, p.text,
        count(*) over scope as placed_count,
        count(*) filter (where p.last_enqueued = g.min_enqueued) over scope as behind_count,
        count(*) filter (where p.last_completed = g.min_completed) over scope as unfinished_count
    from fr_position as p
    join fr_group_state as g on g.job_id = p.job_id and g.path_attempt = p.path_attempt and g.group_key = p.group_key and g.is_stuck
    where p.last_enqueued is not null
    window scope as (partition by p.job_id, p.path_attempt, p.group_key)
),
pointed as (
    select
        *,
        case
            when min_enqueued < max_enqueued and behind_count * 2 <= placed_count and last_enqueued = min_enqueued then 'behind'
            when min_enqueued < max_enqueued and behind_count * 2 > placed_count and last_enqueued > min_enqueued and not regexp_matches(coalesce(op_type, ''), '^_?(BROADCAST|SCATTER|REDUCE$)') then 'ahead'
            when min_enqueued = max_enqueued and min_completed < max_completed and unfinished_count * 2 <= placed_count and last_completed = min_completed and not regexp_matches(coalesce(op_type, ''), '^_?(BROADCAST|SCATTER|GATHER|REDUCE$)') then 'unfinished'
        end as basis
    from placed
),
every as (
    select job_id, path_attempt, group_key, rank, basis, stuck_seq as seq_num, case basis when 'behind' then 0.95 when 'ahead' then 0.85 else 0.75 end as certainty, file_id, place_no, text
    from pointed
    where basis is not null
    union all
    select job_id, path_attempt, group_key, rank, 'mismatch', seq_num, 0.9, file_id, place_no, text
    from fr_mismatch
    where is_minority
),
edge as (
    select distinct w.job_id, w.path_attempt, w.rank, w.peer_rank
    from fr_wait as w
    join every as s on s.job_id = w.job_id and s.path_attempt = w.path_attempt and s.rank = w.peer_rank and s.basis = 'behind'
    where not w.is_peer_unknown
)
select
    e.job_id, e.path_attempt, e.group_key, e.rank,
    case when e.basis = 'behind' and o.rank is not null then 'order' else e.basis end as basis,
    e.seq_num, e.certainty,
    e.basis = 'behind' and o.rank is null and exists (select 1 from edge as d where d.job_id = e.job_id and d.path_attempt = e.path_attempt and d.rank = e.rank) as is_held,
    e.file_id, e.place_no, e.text
from every as e
left join (
    select distinct a.job_id, a.path_attempt, a.rank
    from fr_wait as a
    join fr_wait as b on b.job_id = a.job_id and b.path_attempt = a.path_attempt and b.rank = a.peer_rank and b.peer_rank = a.rank and b.group_key <> a.group_key
    where not a.is_p2p and not b.is_p2p
) as o on o.job_id = e.job_id and o.path_attempt = e.path_attempt and o.rank = e.rank
