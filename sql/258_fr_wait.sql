-- An operation that stands still by the Flight Recorder dumps: who entered it, who did not, and of
-- whom no dump tells.
-- grain: one row an operation of a group that somebody entered and nobody finished
-- reads: fr_pending, fr_position
-- stored: yes
-- note: A collective lacks the members that had enqueued less; a send or receive lacks its peer
-- note: where the peer has no such unfinished one. Group ranks of peers are mapped through the
-- note: members of the group.
create or replace view fr_wait as
with operation as (
    select
        job_id, path_attempt, group_key, operation_key, is_p2p,
        min(process_group) as process_group,
        min(seq_num) as seq_num,
        mode(op_type order by op_type) as op_type, mode(numel_in order by numel_in) as numel_in,
        mode(numel_out order by numel_out) as numel_out,
        mode(timeout_ms order by timeout_ms) as timeout_ms,
        mode(user_location order by user_location) as user_location,
        list(distinct rank order by rank) as waiting_ranks,
        max(peer_rank) as high_peer, min(peer_rank) as low_peer,
        min(created_ns) as first_ns,
        arg_min(file_id, (created_ns, rank)) as file_id,
        arg_min(place_no, (created_ns, rank)) as place_no, arg_min(text, (created_ns, rank)) as text
    from fr_pending
    group by job_id, path_attempt, group_key, operation_key, is_p2p
),
member as (
    select
        o.job_id, o.path_attempt, o.group_key, o.operation_key, p.rank,
        case
            when not p.has_dump then 'unknown'
            when o.is_p2p and list_contains(o.waiting_ranks, p.rank) or not o.is_p2p
                and coalesce(p.last_enqueued >= o.seq_num, false) then 'entered'
            else 'absent'
        end as part
    from operation as o
    join fr_position as p on p.job_id = o.job_id and p.path_attempt = o.path_attempt
        and p.group_key = o.group_key
        and (not o.is_p2p or p.rank = o.high_peer or p.rank = o.low_peer
            or list_contains(o.waiting_ranks, p.rank))
),
counted as (
    select
        job_id, path_attempt, group_key, operation_key,
        count(*)::integer as member_count,
        list(rank order by rank) filter (where part = 'absent') as absent_ranks,
        list(rank order by rank) filter (where part = 'unknown') as unknown_ranks
    from member
    group by job_id, path_attempt, group_key, operation_key
)
select
    o.job_id, o.path_attempt, o.group_key, o.operation_key, o.process_group, o.is_p2p, o.seq_num,
    o.op_type, o.numel_in, o.numel_out, o.timeout_ms, o.user_location,
    c.member_count, o.waiting_ranks,
    coalesce(c.absent_ranks, []) as absent_ranks,
    coalesce(c.unknown_ranks, []) as unknown_ranks,
    o.first_ns, o.file_id, o.place_no, o.text
from operation as o
join counted as c on c.job_id = o.job_id and c.path_attempt = o.path_attempt
    and c.group_key = o.group_key and c.operation_key = o.operation_key
