-- A process group with collectives: how far its members had come, and which collective it stands
-- in, by their Flight Recorder dumps.
-- grain: one row a job and group
-- reads: fr_position, fr_collective
-- stored: yes
-- note: stuck_seq is the first collective that somebody had not entered; where all entered the
-- note: same, the first that somebody had not finished. hang_start_ns: when the first rank entered
-- note: it. Groups of sends and receives alone have no such order and are left out.
create or replace view fr_group_state as
with state as (
    select
        job_id, path_attempt, group_key, max(process_group) as process_group,
        count(*)::integer as member_count,
        count(last_enqueued)::integer as placed_count,
        list(rank order by rank) filter (where not has_dump) as missing_ranks,
        min(last_enqueued) as min_enqueued, max(last_enqueued) as max_enqueued,
        min(last_completed) as min_completed, max(last_completed) as max_completed,
        (count(*) filter (where last_enqueued > last_completed))::integer as pending_count
    from fr_position
    where not is_p2p_group
    group by job_id, path_attempt, group_key
),
placed as (
    select *,
        case when min_enqueued < max_enqueued then min_enqueued + 1 else min_completed + 1 end
            as stuck_seq
    from state
),
entered as (
    select
        s.job_id, s.path_attempt, s.group_key,
        min(c.created_ns) as hang_start_ns,
        max(c.created_ns) as all_entered_ns,
        count(distinct c.rank) as entered_count,
        mode(c.op_type order by c.op_type) as op_type,
        mode(c.numel_in order by c.numel_in) as numel_in,
        mode(c.numel_out order by c.numel_out) as numel_out,
        mode(c.timeout_ms order by c.timeout_ms) as timeout_ms,
        mode(c.user_location order by c.user_location) as user_location,
        arg_min(c.file_id, (c.created_ns, c.rank)) as file_id,
        arg_min(c.place_no, (c.created_ns, c.rank)) as place_no,
        arg_min(c.text, (c.created_ns, c.rank)) as text
    from placed as s
    join fr_collective as c on c.job_id = s.job_id and c.path_attempt = s.path_attempt
        and c.group_key = s.group_key and c.seq_num = s.stuck_seq and c.is_used and not c.is_p2p
    group by s.job_id, s.path_attempt, s.group_key
)
select
    s.job_id, s.path_attempt, s.group_key, s.process_group, s.member_count, s.placed_count,
    coalesce(s.missing_ranks, []) as missing_ranks,
    s.min_enqueued, s.max_enqueued,
    s.pending_count > 0 as is_stuck,
    case when s.pending_count > 0 then s.stuck_seq end as stuck_seq,
    e.hang_start_ns, coalesce(e.entered_count, 0) as entered_count,
    e.op_type, e.numel_in, e.numel_out, e.timeout_ms, e.user_location, e.file_id, e.place_no, e.text
from placed as s
left join entered as e on e.job_id = s.job_id and e.path_attempt = s.path_attempt
    and e.group_key = s.group_key
