-- How late a member entered the collectives of its group before the hang, by the Flight Recorder
-- dumps.
-- grain: one row a job, group and member, where enough collectives of all members are available
-- reads: fr_collective, fr_position, threshold
-- stored: yes
-- note: late_s is the median over the last collectives of how long after the middle member it
-- note: entered; last_count says how often it was the last. is_late: nearly always the last, and by
-- note: more than the clocks of hosts differ. transfer_s: median time from the last entry to the
-- note: end, seen every 100 ms; it is the fabric's own.
create or replace view fr_lateness as
with bound as (
    select job_id, path_attempt, group_key, count(*) as member_count, min(last_enqueued) as last_seq
    from fr_position
    where has_dump and last_enqueued is not null and not is_p2p_group
    group by job_id, path_attempt, group_key
    having count(*) >= 3
),
entry as (
    select c.job_id, c.path_attempt, c.group_key, c.seq_num, c.rank,
        min(c.created_ns) as created_ns,
        max(c.created_ns + (c.seen_for_s * 1000000000)::bigint) as completed_ns,
        min(c.file_id) as file_id, min(c.place_no) as place_no, b.member_count
    from fr_collective as c
    join bound as b on b.job_id = c.job_id and b.path_attempt = c.path_attempt
        and b.group_key = c.group_key and c.seq_num between b.last_seq - 63 and b.last_seq
    where c.is_used and not c.is_p2p and c.created_ns is not null
    group by c.job_id, c.path_attempt, c.group_key, c.seq_num, c.rank, b.member_count
),
number as (
    select job_id, path_attempt, group_key, seq_num, median(created_ns) as middle_ns,
        max(created_ns) as last_ns, min(completed_ns) as end_ns
    from entry
    group by job_id, path_attempt, group_key, seq_num
    having count(*) = any_value(member_count)
),
summed as (
    select
        e.job_id, e.path_attempt, e.group_key, e.rank,
        count(*) as collective_count,
        count(*) filter (where e.created_ns = n.last_ns) as last_count,
        round(median(e.created_ns - n.middle_ns) / 1e9, 3) as late_s,
        round(median(greatest(n.end_ns - n.last_ns, 0) / 1e9) filter (where n.end_ns is not null),
            3)
            as transfer_s,
        arg_max(e.file_id, e.seq_num) as file_id, arg_max(e.place_no, e.seq_num) as place_no
    from entry as e
    join number as n on n.job_id = e.job_id and n.path_attempt = e.path_attempt
        and n.group_key = e.group_key and n.seq_num = e.seq_num
    group by e.job_id, e.path_attempt, e.group_key, e.rank
    having count(*) >= 5
)
select
    s.job_id, s.path_attempt, s.group_key, s.rank, s.collective_count::integer as collective_count,
    s.late_s, s.transfer_s,
    s.last_count >= 0.8 * s.collective_count and s.late_s >= t.value as is_late,
    s.file_id, s.place_no
from summed as s
join threshold as t on t.name = 'late_start_s'
