-- A rank that entered two process groups in another order than other ranks of both, by the order of
-- their Flight Recorder records.
-- grain: one row a rank and pair of operations of two groups
-- reads: fr_pending, fr_position
-- stored: yes
-- note: Only operations that stand still count: a rank that waits in the first had not entered the
-- note: second, or entered it later. side_count ranks took this order, other_count the opposite
-- note: one; is_minority: fewer did so.
create or replace view fr_order as
with entered as (
    select job_id, path_attempt, rank, group_key, operation_key, seq_num, place_no, file_id, text
    from fr_pending
    where not is_p2p
),
lacking as (
    select distinct e.job_id, e.path_attempt, e.group_key, e.operation_key, p.rank
    from entered as e
    join fr_position as p on p.job_id = e.job_id and p.path_attempt = e.path_attempt
        and p.group_key = e.group_key and p.has_dump
        and coalesce(p.last_enqueued < e.seq_num, true)
),
ordered as (
    select a.job_id, a.path_attempt, a.rank, a.group_key, a.operation_key,
        l.group_key as later_group_key, l.operation_key as later_operation_key, a.file_id,
        a.place_no, a.text
    from entered as a
    join lacking as l on l.job_id = a.job_id and l.path_attempt = a.path_attempt and l.rank = a.rank
        and l.group_key <> a.group_key
    union all
    select a.job_id, a.path_attempt, a.rank, a.group_key, a.operation_key, b.group_key,
        b.operation_key, a.file_id, a.place_no, a.text
    from entered as a
    join entered as b on b.job_id = a.job_id and b.path_attempt = a.path_attempt and b.rank = a.rank
        and b.group_key <> a.group_key and b.place_no > a.place_no
),
side as (
    select job_id, path_attempt, group_key, operation_key, later_group_key, later_operation_key,
        count(distinct rank) as side_count
    from ordered
    group by all
)
select
    o.job_id, o.path_attempt, o.rank, o.group_key, o.operation_key, o.later_group_key,
    s.side_count < t.side_count as is_minority,
    o.file_id, o.place_no, o.text
from ordered as o
join side as s on s.job_id = o.job_id and s.path_attempt = o.path_attempt
    and s.group_key = o.group_key and s.operation_key = o.operation_key
    and s.later_group_key = o.later_group_key and s.later_operation_key = o.later_operation_key
join side as t on t.job_id = o.job_id and t.path_attempt = o.path_attempt
    and t.group_key = o.later_group_key and t.operation_key = o.later_operation_key
    and t.later_group_key = o.group_key and t.later_operation_key = o.operation_key
