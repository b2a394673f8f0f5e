-- A rank that the Flight Recorder dumps of a failed attempt point at, whether that counts, and
-- ranks that they clear.
-- grain: one row a rank of a failed attempt and basis
-- reads: fr_failure, fr_suspect
-- stored: yes
-- note: counts: nobody holds it up; who is ahead, or did not start or finish alone, counts only
-- note: where nobody is behind or called something else. is_cleared: it was held up by others, and
-- note: the dumps name somebody else.
create or replace view dump_suspect as
with pointed as (
    select f.job_id, f.attempt, s.rank, s.basis, s.certainty, s.seq_num, s.is_held,
        s.group_key <> f.group_key as is_elsewhere, s.file_id, s.place_no, s.text,
        s.basis in ('ahead', 'unfinished', 'not_started') as is_weak,
        bool_or(s.basis not in ('ahead', 'unfinished', 'not_started') and not s.is_held)
            over (partition by f.job_id, f.attempt) as is_strong_at_hand
    from fr_failure as f
    join fr_suspect as s on s.job_id = f.job_id and s.path_attempt = f.path_attempt
)
select
    job_id, attempt, rank, basis, max(certainty) as certainty, min(seq_num) as seq_num,
    bool_or(not is_held and not (is_weak and is_strong_at_hand)) as counts,
    bool_and(is_held) and bool_and(is_strong_at_hand) as is_cleared,
    arg_min(file_id, (is_held, is_elsewhere, seq_num)) as file_id,
    arg_min(place_no, (is_held, is_elsewhere, seq_num)) as place_no,
    arg_min(text, (is_held, is_elsewhere, seq_num)) as text
from pointed
group by job_id, attempt, rank, basis
