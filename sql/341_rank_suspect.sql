-- A rank that something points at as the one the others waited for, or the one that died first.
-- grain: one row a rank and kind of pointer
-- reads: failed_attempt, failed_rank, rank_position, rank_crash, named_rank, stuck_collective,
-- reads: failure_signal, fr_failure, fr_position, fr_suspect, log_straggler,
-- reads: stack_activity, threshold, stack_process
-- case: yes
-- note: basis: named (peers, a barrier or the error that all share name it), mismatch (other
-- note: operation or size than most at one sequence number), behind (had not enqueued what the
-- note: others wait in; most ranks only where a stack shows one of them wait for data, else the
-- note: others are ahead), out_of_step (waits, by the counters of one group, in what more ranks
-- note: have completed than wait in it), other_collective (stands in another call), killed, crash,
-- note: silent (alone without a time-out line where the number of ranks is stated, so that the
-- note: logs reach back to the start, and no stack shows it waiting, nor a closed connection in
-- note: the call of those that waited, where others have none; no such rank where the watchdogs
-- note: found an error of NCCL's network and no time-out), exited (torchrun names it first, alone
-- note: in that second and before other agents' first, nothing hung, no error stands in the logs,
-- note: and it did not lose its connection to another rank), stack (its stack stands elsewhere
-- note: than most wait; NCCL's collectives are asynchronous, so not who had entered what the
-- note: others wait in, by its counters or its watchdog), absent (no line at all; a rank whose log
-- note: is available, as all others of it speak there, is silent).
create or replace view rank_suspect as
with size as (
    select p.job_id, p.attempt, p.rank,
        p.op_type || '/' || coalesce(p.numel_in::varchar, '?') as shape, true as is_waiting,
        p.file_id, p.line_no, p.text
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt
        and c.seq_num = p.seq_num
    where p.op_type is not null and p.op_type not in ('SEND', 'RECV')
        and (p.job_id, p.attempt) not
            in (select job_id, attempt from failure_signal
                where signal = 'timeout' and seq_num is not null and rank is not null
                group by job_id, attempt, rank
                having count(process_group) = 0 and count(distinct (seq_num, op_type)) > 1)
),
call as (
    select job_id, attempt, rank,
        case when regexp_matches(collective, '^i?(send|recv)$') then 'message'
            when bool_and(user_location is not null) over (partition by job_id, attempt)
                then coalesce(collective, 'backward') || ' at ' || user_location
            else collective end as shape,
        is_waiting, file_id, line_no, text
        from rank_position where seq_num is null and coalesce(collective, user_location) is not null
    union all
    select job_id, attempt, rank, collective || ' at ' || user_location, true, file_id, line_no,
        text from failure_signal
    where rank is not null and signal = 'victim' and is_peer_lost and user_location is not null
        and (job_id, attempt) in (select job_id, attempt from failure_signal
            where pattern = 'gloo_size_mismatch')
        and (job_id, attempt) not in (select job_id, attempt from stuck_collective)
),
shape_share as (
    select *, max(shape_count) over (partition by job_id, attempt, basis) as most_count,
        count(*) over (partition by job_id, attempt, basis) as rank_count
    from (select *, count(*) over (partition by job_id, attempt, basis, shape) as shape_count
        from (select *, 'mismatch' as basis from size
            union all select *, 'other_collective' as basis from call))
),
behind as (
    select p.job_id, p.attempt, p.rank, p.last_enqueued, p.last_completed, c.seq_num, c.op_type,
        p.file_id, p.line_no, p.text,
        p.last_enqueued < c.seq_num as is_behind,
        count(*) filter (where p.last_enqueued < c.seq_num)
            over (partition by p.job_id, p.attempt) as behind_count,
        count(*) filter (where p.last_enqueued < c.seq_num
            and exists (select 1 from rank_crash as f
                where f.job_id = p.job_id and f.attempt = p.attempt and f.rank = p.rank
                    and f.utc_ns <= c.hang_start_ns
                        + (select value * 1000000000 from threshold where name = 'same_cause_s')))
            over (partition by p.job_id, p.attempt) as fallen_count,
        count(*) over (partition by p.job_id, p.attempt) as rank_count
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt
    where p.last_enqueued is not null and c.seq_num is not null and not p.is_held
),
dumped as (
    select s.* exclude (job_id), f.job_id, f.attempt,
        (s.is_held, s.group_key <> f.group_key, s.seq_num) as near
    from fr_failure as f
    join fr_suspect as s on s.job_id = f.job_id and s.path_attempt = f.path_attempt
),
placed as (
    select f.job_id, f.attempt, p.rank from fr_failure as f
        join fr_position as p on p.job_id = f.job_id and p.path_attempt = f.path_attempt
            and p.has_dump
),
cut_off as (
    select s.job_id, s.attempt, s.rank
    from failure_signal as s
    join rank_position as p on p.job_id = s.job_id and p.attempt = s.attempt and p.is_waiting
        and p.user_location = s.user_location
    where s.signal = 'victim' and s.is_peer_lost and s.rank is not null
),
stack as (
    select a.*, e.rank is not null as has_entered,
        count(e.rank) filter (where a.is_waiting)
            over (partition by a.job_id, a.attempt) as entered_count
    from stack_activity as a
    left join (select p.job_id, p.attempt, p.rank
        from rank_position as p
        left join stuck_collective as k on k.job_id = p.job_id and k.attempt = p.attempt
        where p.is_waiting or p.last_enqueued >= k.seq_num)
        as e
        on e.job_id = a.job_id and e.attempt = a.attempt and e.rank = a.rank
),
starved as (
    select distinct job_id, attempt from stack_activity
    where activity in ('storage_wait', 'worker_wait', 'data_loading', 'batch_preparation')
),
voiceless as (
    select r.job_id, r.attempt, r.rank, r.is_absent and g.rank is null as is_absent,
        coalesce(r.file_id, g.file_id) as file_id
    from failed_rank as r
        join failed_attempt as f on f.job_id = r.job_id and f.attempt = r.attempt
            and f.timeout_count > 0 and f.is_world_stated
        left join log_straggler as g on g.job_id = r.job_id and g.attempt = r.attempt
            and g.rank = r.rank
    where (r.job_id, r.attempt) not
        in (select job_id, attempt from failure_signal where signal in ('timeout', 'crash')
            group by all
            having bool_and(signal = 'crash' or pattern = 'nccl_watchdog_failure_detected')
                and bool_or(signal = 'crash' and tier = 'network' and pattern like 'nccl%'))
        and not exists (select 1 from rank_position as p
            where p.job_id = r.job_id and p.attempt = r.attempt and p.rank = r.rank)
        and not exists (from stack_activity as a
            where a.job_id = r.job_id and a.attempt = r.attempt and a.rank = r.rank
                and a.activity in ('collective', 'backward'))
    qualify (r.job_id, r.attempt, r.rank) not in (from cut_off)
        or bool_and((r.job_id, r.attempt, r.rank) in (from cut_off))
            over (partition by r.job_id, r.attempt)
),
quiet as (
    select *, count(*) over (partition by job_id, attempt) as quiet_count from voiceless
)
select job_id, attempt, rank, 'named' as basis, 0.9 as certainty, vote_count as weight, file_id,
    line_no, text
    from named_rank
where (job_id, attempt, rank) not
    in (select job_id, attempt, rank from dumped group by all having bool_and(is_cleared))
union all
select job_id, attempt, rank, basis, 0.85, shape_count, file_id, line_no, text from shape_share
where is_waiting
    and shape_count <= (select value from threshold where name = 'minority_share') * rank_count
    and shape_count * 2 <> rank_count and shape_count < most_count
union all
select job_id, attempt, rank, case when is_behind then 'behind' else 'ahead' end,
    case when is_behind then 0.95 else 0.85 end, behind_count, file_id, line_no, text
from behind
where behind_count > 0
    and case when behind_count * 2 > rank_count and (job_id, attempt) in (from starved)
        then is_behind
        else is_behind = (behind_count * 2 <= rank_count)
            and (job_id, attempt, rank) not in (from placed)
            and (is_behind
                or (op_type is distinct from 'BROADCAST' and fallen_count * 2 <= behind_count)) end
union all
select w.job_id, w.attempt, w.rank, 'out_of_step', 0.85,
    count(*) filter (where o.last_completed >= w.seq_num), w.file_id, w.line_no, w.text
from rank_position as w
join rank_position as o on o.job_id = w.job_id and o.attempt = w.attempt
where w.is_waiting and w.last_completed < w.seq_num
group by w.job_id, w.attempt, w.rank, w.file_id, w.line_no, w.text
having count(*) filter (where o.last_completed >= w.seq_num)
    > count(*) filter (where o.is_waiting and o.last_completed < w.seq_num)
union all
select job_id, attempt, rank, basis, max(certainty), min(seq_num), arg_min(file_id, near),
    arg_min(place_no, near), arg_min(text, near)
from dumped
group by job_id, attempt, rank, basis
having bool_or(counts) and (basis <> 'ahead' or (job_id, attempt) not in (from starved))
union all
select f.job_id, f.attempt, f.rank, 'no_dump', 0.5, 1, f.file_id, null, null
from (select job_id, attempt, path_attempt, file_id, unnest(missing_ranks) as rank from fr_failure)
    as f
where (f.job_id, f.attempt, f.rank) not in (select job_id, attempt, rank from rank_position
    where is_held)
union all
select job_id, attempt, rank, signal, case signal when 'killed' then 0.8 else 0.85 end, line_count,
    file_id, line_no, text
    from rank_crash
union all
select distinct on (s.job_id, s.attempt, s.rank) s.job_id, s.attempt, s.rank, 'exited', 0.5, 1,
    s.file_id, s.line_no, s.text
from failure_signal as s
join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt and f.timeout_count = 0
where s.signal = 'exit' and s.rank is not null
    and json_extract_string(s.capture, '$.is_root_cause') = 'true'
    and not exists (from failure_signal as c
        where c.job_id = s.job_id and c.attempt = s.attempt and c.signal = 'exit'
            and c.rank <> s.rank and c.utc_ns <= s.utc_ns
            and json_extract_string(c.capture, '$.is_root_cause') = 'true')
    and not exists (select 1 from rank_crash as c
        where c.job_id = s.job_id and c.attempt = s.attempt)
    and not exists (from failure_signal as c
        where c.job_id = s.job_id and c.attempt = s.attempt
            and (c.rank is null and c.failure_class is not null and c.signal = 'crash'
                    and c.exception <> 'ChildFailedError'
                or c.pattern = 'gloo_size_mismatch'
                or c.rank = s.rank and c.signal = 'victim' and c.is_peer_lost))
union all
select job_id, attempt, rank, 'stack', if(elsewhere_count > 1 or confidence < 0.9, 0.6, 0.8),
    elsewhere_count, file_id, line_no, text
from stack
where not is_waiting and not has_entered and activity <> 'compute'
    and (waiting_count > elsewhere_count
        or (waiting_count > 0 and entered_count = waiting_count))
union all
select job_id, attempt, rank, 'other_collective', 0.6, 1, file_id, line_no, text
from stack_activity
where is_odd_call
union all
select job_id, attempt, rank,
    case when is_absent
        and (job_id, rank) not
            in (select job_id, rank from stack_process
                where rank is not null and activity is not null)
            then 'absent'
        else 'silent' end,
    case when quiet_count = 1 then 0.8 else 0.5 end, quiet_count, file_id, null, null
    from quiet
