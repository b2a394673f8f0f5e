-- A rank that the Flight Recorder dumps point at as the one that kept its group waiting.
-- grain: one row a job, group, rank and basis
-- reads: fr_collective, fr_position, fr_pending, fr_mismatch, fr_wait, fr_order
-- stored: yes
-- note: Who had not entered an operation and waits for nobody itself is behind; where that are most
-- note: members, the few that entered it diverged, unless theirs was the root's part of a
-- note: broadcast, scatter or reduce. Where all entered, who alone did not finish or whose device
-- note: alone did not start is suspect. hold, what a rank stands in, the first that is true: absent
-- note: (its last record lacks a member: it waits there), earlier (an earlier one does, and it went
-- note: on after it), unknown (the only member that may be lacking left no dump), device (all
-- note: entered, but a member's device stands in an earlier operation that lacks somebody), still
-- note: (all entered, and nothing tells why nobody finishes). counts: nobody holds it up; who is
-- note: ahead, or did not start or finish alone, counts only where nobody is behind or called
-- note: something else. is_cleared: it is held up by others, and the dumps name somebody else.
create or replace view fr_suspect as
with stood as (
    select
        p.*, len(w.absent_ranks) > 0 as is_lacking,
        len(w.absent_ranks) = 0 and len(w.unknown_ranks) > 0 as is_unknown,
        coalesce(p.place_no > min(p.place_no)
            filter (where len(w.absent_ranks) + len(w.unknown_ranks) > 0)
            over (partition by p.job_id, p.path_attempt, p.rank), false)
            as is_after
    from fr_pending as p
    join fr_wait as w on w.job_id = p.job_id and w.path_attempt = p.path_attempt
        and w.group_key = p.group_key and w.operation_key = p.operation_key
),
held as (
    select
        job_id, path_attempt, rank,
        case
            when bool_or(is_lacking and is_last) then 'absent'
            when bool_or(is_lacking) then 'earlier' when bool_or(is_unknown) then 'unknown'
            when bool_or(is_device) then 'device' else 'still'
        end as hold
    from (select *, bool_or(is_after)
        over (partition by job_id, path_attempt, group_key, operation_key) as is_device
        from stood)
    group by job_id, path_attempt, rank
),
absent as (
    select w.job_id, w.path_attempt, w.group_key, w.seq_num, w.is_p2p, w.op_type, w.rank,
        w.waiting_ranks, w.member_count - len(w.unknown_ranks) as placed_count,
        coalesce(h.hold, 'free') as hold,
        count(*) filter (where h.hold is null)
            over (partition by w.job_id, w.path_attempt, w.group_key, w.operation_key)
                as free_count,
        count(*)
            over (partition by w.job_id, w.path_attempt, w.group_key, w.operation_key)
                as absent_count
    from (select *, unnest(absent_ranks) as rank from fr_wait) as w
    left join held as h on h.job_id = w.job_id and h.path_attempt = w.path_attempt
        and h.rank = w.rank
),
open as (
    select job_id, path_attempt from absent where free_count > 0
    union
    select job_id, path_attempt from held where hold in ('unknown', 'still')
    union
    select job_id, path_attempt from fr_order
),
pointed as (
    select job_id, path_attempt, group_key, rank, 'behind' as basis, seq_num,
        case when hold = 'free' then 0.95 else 0.8 end as certainty,
        not (hold = 'free' or (hold = 'earlier' and (job_id, path_attempt) not in (from open)))
            as is_held
    from absent
    where hold <> 'free' or free_count * 2 <= placed_count
    union all
    select job_id, path_attempt, group_key, unnest(waiting_ranks) as rank, 'ahead', seq_num, 0.85,
        false
    from absent
    where free_count * 2 > placed_count and free_count = absent_count and not is_p2p
        and not regexp_matches(coalesce(op_type, ''), '^_?(BROADCAST|SCATTER|REDUCE$)')
    union all
    select p.job_id, p.path_attempt, p.group_key, p.rank, p.basis, p.least_completed + 1, 0.75,
        h.hold <> 'still'
    from (
        select *, case
                when last_completed < max(last_completed) over scope
                    and count(*) filter (where last_completed = least_completed)
                        over scope * 2 <= count(*) over scope
                    and last_completed = least_completed then 'unfinished'
                when last_started < max(last_started) over scope
                    and count(*) filter (where last_started < last_enqueued)
                        over scope * 2 <= count(*) over scope
                    and last_started < last_enqueued then 'not_started'
            end as basis
        from (select *, min(last_completed) over whole as least_completed
            from fr_position
            where not is_p2p_group
            window whole as (partition by job_id, path_attempt, group_key)
            qualify bool_and(has_dump) over whole
                and min(last_enqueued) over whole = max(last_enqueued) over whole
                and bool_or(last_enqueued > last_completed) over whole)
        where last_enqueued is not null
        window scope as (partition by job_id, path_attempt, group_key)
    ) as p
    left join held as h on h.job_id = p.job_id and h.path_attempt = p.path_attempt
        and h.rank = p.rank
    where p.basis is not null
        and not coalesce((select regexp_matches(mode(c.op_type order by c.op_type),
                '^_?(BROADCAST|SCATTER|GATHER|REDUCE$)')
            from fr_collective as c
            where c.job_id = p.job_id and c.path_attempt = p.path_attempt
                and c.group_key = p.group_key and c.seq_num = p.least_completed + 1
                and c.is_used and not c.is_p2p), false)
),
every as (
    select s.job_id, s.path_attempt, s.group_key, s.rank, s.basis, s.seq_num, s.certainty,
        coalesce(s.is_held, false) as is_held, p.file_id, p.place_no, p.text
    from pointed as s
    join fr_position as p on p.job_id = s.job_id and p.path_attempt = s.path_attempt
        and p.group_key = s.group_key and p.rank = s.rank
    union all
    select job_id, path_attempt, group_key, rank, 'mismatch', seq_num, 0.9, false, file_id,
        place_no, text
        from fr_mismatch where is_minority
    union all
    select job_id, path_attempt, later_group_key, rank, 'order', null, 0.9, false, file_id,
        place_no, text
        from fr_order where is_minority
),
summed as (
    select job_id, path_attempt, group_key, rank, basis, min(seq_num) as seq_num,
        max(certainty) as certainty, bool_and(is_held) as is_held,
        basis in ('ahead', 'unfinished', 'not_started') as is_weak,
        arg_min(file_id, (is_held, seq_num)) as file_id,
        arg_min(place_no, (is_held, seq_num)) as place_no, arg_min(text, (is_held, seq_num)) as text
    from every
    group by job_id, path_attempt, group_key, rank, basis
)
select job_id, path_attempt, group_key, rank, basis, seq_num, certainty, is_held,
    not is_held and not (is_weak and is_told) as counts, is_held and is_told as is_cleared,
    file_id, place_no, text
from (select *, bool_or(not is_held and not is_weak) over (partition by job_id, path_attempt)
    as is_told
    from summed)
