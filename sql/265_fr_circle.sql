-- An operation that waits for itself by the Flight Recorder dumps: whom it lacks waits in another
-- one, and so on back to it.
-- grain: one row an operation of a waiting circle
-- reads: fr_wait, fr_pending, fr_suspect
-- stored: yes
-- note: Only where no rank is told as the first cause. rank waits in the operation; needs_rank has
-- note: not entered it.
create or replace view fr_circle as
with recursive edge as (
    select distinct w.job_id, w.path_attempt, w.group_key || ' ' || w.operation_key as node,
        n.group_key || ' ' || n.operation_key as next_node
    from (select *, unnest(absent_ranks) as rank from fr_wait) as w
    join fr_pending as n on n.job_id = w.job_id and n.path_attempt = w.path_attempt
        and n.rank = w.rank
    join fr_wait as m on m.job_id = n.job_id and m.path_attempt = n.path_attempt
        and m.group_key = n.group_key and m.operation_key = n.operation_key
        and len(m.absent_ranks) > 0
    where (w.job_id, w.path_attempt) not
        in (select job_id, path_attempt from fr_suspect where not is_held)
),
reach as (
    select job_id, path_attempt, node, next_node from edge
    union
    select r.job_id, r.path_attempt, r.node, e.next_node
    from reach as r
    join edge as e on e.job_id = r.job_id and e.path_attempt = r.path_attempt
        and e.node = r.next_node
)
select
    w.job_id, w.path_attempt, w.group_key, w.operation_key, w.process_group, w.op_type, w.seq_num,
    w.waiting_ranks, w.absent_ranks, w.first_ns, w.file_id, w.place_no, w.text
from fr_wait as w
join (select job_id, path_attempt, node from reach where node = next_node) as r
    on r.job_id = w.job_id
    and r.path_attempt = w.path_attempt and r.node = w.group_key || ' ' || w.operation_key
