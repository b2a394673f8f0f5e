-- A rank that stands in an operation of its own by the Flight Recorder dumps, so that it may be
-- held up by others.
-- grain: one row a rank with an unfinished operation
-- reads: fr_pending, fr_wait
-- stored: yes
-- note: hold, the first that is true: absent (its last record lacks a member: it waits there),
-- note: earlier (an earlier one does, and it went on after it), unknown (the only member that may
-- note: be lacking left no dump), device (all entered, but a member's device stands in an earlier
-- note: operation that lacks somebody), still (all entered, and nothing tells why nobody finishes).
create or replace view fr_hold as
with part as (
    select
        p.job_id, p.path_attempt, p.rank, p.group_key, p.operation_key, p.is_last, p.place_no,
        len(w.absent_ranks) > 0 as is_lacking,
        len(w.absent_ranks) = 0 and len(w.unknown_ranks) > 0 as is_unknown,
        min(p.place_no) filter (where len(w.absent_ranks) + len(w.unknown_ranks) > 0)
            over (partition by p.job_id, p.path_attempt, p.rank) as lacking_place_no
    from fr_pending as p
    join fr_wait as w on w.job_id = p.job_id and w.path_attempt = p.path_attempt
        and w.group_key = p.group_key and w.operation_key = p.operation_key
),
judged as (
    select *,
        bool_or(coalesce(lacking_place_no < place_no, false))
            over (partition by job_id, path_attempt, group_key, operation_key) as is_device
    from part
)
select
    job_id, path_attempt, rank,
    case
        when bool_or(is_lacking and is_last) then 'absent' when bool_or(is_lacking) then 'earlier'
            when bool_or(is_unknown) then 'unknown' when bool_or(is_device) then 'device'
            else 'still'
    end as hold,
    arg_min(group_key, place_no) as group_key,
    arg_min(operation_key, place_no) as operation_key
from judged
group by job_id, path_attempt, rank
