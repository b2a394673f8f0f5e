-- Where a rank stood in the stuck process group: what it had enqueued and completed, and what it
-- waited in.
-- grain: one row a rank of a failed attempt that waited, or whose counters or call are known
-- reads: failure_signal, group_wait, stuck_collective, fr_failure, fr_position, fr_collective,
-- reads: fr_pending
-- case: yes
-- note: Where no line tells when it stopped, the stuck group is that of all ranks, with counters
-- note: alone.
-- note: What a log does not print comes from the Flight Recorder dump of the rank, also where it
-- note: waits in another group; place_no stands for the line then. Counters are compared inside
-- note: one group only. is_held: it timed out in another group than the one that stood still
-- note: first. In a job of several groups (tensor, pipeline, data parallel) one absent rank stops
-- note: its own groups, and these stop others: who waits anywhere is not the one that all wait
-- note: for. Who has enqueued what stood still first, and completed the one before, waits in that
-- note: one, though the line of its own time-out is lost. Whose connection a peer closed stands in
-- note: a collective too; whether it had waited there, or came as the others gave up, is not known.
create or replace view rank_position as
with line as (
    select
        s.job_id, s.attempt, s.rank, s.signal, s.pattern, s.seq_num, s.op_type, s.numel_in,
        s.numel_out, s.last_enqueued, s.last_completed, s.collective, s.user_location,
        coalesce(nullif(regexp_extract(s.process_group, '^([^( ]+)', 1), ''), w.guid) as guid,
            s.ran_for_ms, s.utc_ns, s.file_id, s.line_no, s.text,
        s.signal = 'victim' and s.is_peer_lost and s.collective is not null as is_broken_off,
        coalesce(c.guid, '0') as stuck_guid, c.guid is not null as is_stuck
    from failure_signal as s
    left join stuck_collective as c on c.job_id = s.job_id and c.attempt = s.attempt
    left join group_wait as w on w.job_id = s.job_id and w.attempt = s.attempt and w.rank = s.rank
        and w.seq_num = s.seq_num and s.signal = 'timeout'
    where s.rank is not null
),
counter as (
    select
        job_id, attempt, rank,
        max(last_enqueued) as last_enqueued, max(last_completed) as last_completed,
        arg_max(file_id, (last_enqueued, -file_id, -line_no)) as file_id,
        arg_max(line_no, (last_enqueued, -file_id, -line_no)) as line_no,
        arg_max(text, (last_enqueued, -file_id, -line_no)) as text
    from line
    where last_enqueued is not null
        and (guid = stuck_guid
            or (guid is null and is_stuck
                and (stuck_guid = '0' or coalesce(pattern, '') not like 'nccl_dump_signal%')))
    group by job_id, attempt, rank
),
waited as (
    select
        job_id, attempt, rank,
        min(seq_num) as seq_num,
        arg_min(op_type, (seq_num, file_id, line_no)) filter (where op_type is not null) as op_type,
        arg_min(numel_in, (seq_num, file_id, line_no))
            filter (where numel_in is not null) as numel_in,
        max(collective) as collective, max(user_location) as user_location,
        min(utc_ns - coalesce(ran_for_ms, 0) * 1000000) as wait_start_ns,
        arg_min(file_id, (coalesce(seq_num, 0), file_id, line_no)) as file_id,
        arg_min(line_no, (coalesce(seq_num, 0), file_id, line_no)) as line_no,
        arg_min(text, (coalesce(seq_num, 0), file_id, line_no)) as text
    from line
    where signal = 'timeout' and is_stuck and (guid is null or guid = stuck_guid)
        and coalesce(pattern, '') not like 'nccl_dump_signal%'
    group by job_id, attempt, rank
),
told as (
    select
        coalesce(w.job_id, k.job_id) as job_id, coalesce(w.attempt, k.attempt) as attempt,
            coalesce(w.rank, k.rank) as rank, w.rank is not null as is_waiting,
        w.seq_num, w.op_type, w.numel_in, w.collective, w.user_location, w.wait_start_ns,
        k.last_enqueued, k.last_completed,
        coalesce(k.file_id, w.file_id) as file_id, coalesce(k.line_no, w.line_no) as line_no,
            coalesce(k.text, w.text) as text
    from waited as w
    full join counter as k on k.job_id = w.job_id and k.attempt = w.attempt and k.rank = w.rank
    union all by name
    select job_id, attempt, rank, false as is_waiting, collective, user_location, file_id, line_no,
        text
    from line as n
    where is_broken_off and is_stuck
        and not exists (from waited as w
            where w.job_id = n.job_id and w.attempt = n.attempt and w.rank = n.rank)
        and not exists (from counter as k
            where k.job_id = n.job_id and k.attempt = n.attempt and k.rank = n.rank)
        and not exists (from fr_position as p where p.job_id = n.job_id and p.rank = n.rank)
    qualify row_number() over (partition by job_id, attempt, rank order by file_id, line_no) = 1
),
dump as (
    select f.job_id, f.attempt, p.rank, c.rank is not null as is_waiting, c.seq_num, c.op_type,
        case
            when not regexp_matches(c.operation, '^(gather|scatter|all_?to_?all)|^all_?gather$')
                then c.numel_in end
            as numel_in,
        c.user_location, c.created_ns as wait_start_ns,
        case when not f.is_p2p then p.last_enqueued end as last_enqueued,
        case when not f.is_p2p then p.last_completed end as last_completed,
        coalesce(c.file_id, p.file_id) as file_id, coalesce(c.place_no, p.place_no) as line_no,
            coalesce(c.text, p.text) as text
    from fr_failure as f
    join stuck_collective as k on k.job_id = f.job_id and k.attempt = f.attempt and k.guid = f.guid
    join fr_position as p on p.job_id = f.job_id and p.path_attempt = f.path_attempt
        and p.group_key = f.group_key and p.has_dump
    left join fr_collective as c on c.job_id = p.job_id and c.path_attempt = p.path_attempt
        and c.group_key = p.group_key and c.rank = p.rank and c.is_p2p = f.is_p2p
        and (c.is_p2p or c.seq_num = f.seq_num) and c.is_used and not c.is_finished
    qualify row_number()
        over (partition by f.job_id, f.attempt, p.rank order by c.place_no desc nulls last,
            p.file_id, p.place_no)
            = 1
    union all by name
    select f.job_id, f.attempt, w.rank, true as is_waiting, w.user_location,
        w.created_ns as wait_start_ns, w.file_id, w.place_no as line_no, w.text
    from fr_failure as f
    join fr_pending as w on w.job_id = f.job_id and w.path_attempt = f.path_attempt
    where not exists (select 1 from fr_position as p
        where p.job_id = f.job_id and p.path_attempt = f.path_attempt and p.group_key = f.group_key
            and p.rank = w.rank)
    qualify row_number() over (partition by f.job_id, f.attempt, w.rank order by w.place_no) = 1
),
placed as (
    select
        coalesce(t.job_id, d.job_id) as job_id, coalesce(t.attempt, d.attempt) as attempt,
        coalesce(t.rank, d.rank) as rank,
        coalesce(t.is_waiting, false) or coalesce(d.is_waiting, false) as is_waiting,
        coalesce(t.seq_num, d.seq_num) as seq_num, coalesce(t.op_type, d.op_type) as op_type,
        coalesce(t.numel_in, d.numel_in) as numel_in, t.collective,
        coalesce(t.user_location, d.user_location) as user_location,
        coalesce(t.last_enqueued, d.last_enqueued) as last_enqueued,
        coalesce(t.last_completed, d.last_completed) as last_completed,
        coalesce(t.file_id, d.file_id) as file_id,
        case when t.file_id is not null then t.line_no else d.line_no end as line_no,
        coalesce(t.text, d.text) as text
    from told as t
    full join dump as d on d.job_id = t.job_id and d.attempt = t.attempt and d.rank = t.rank
)
select
    coalesce(p.job_id, s.job_id) as job_id, coalesce(p.attempt, s.attempt) as attempt,
    coalesce(p.rank, s.rank) as rank, coalesce(p.is_waiting, false) as is_waiting,
    s.rank is not null and not coalesce(p.is_waiting
        or (p.last_enqueued >= c.seq_num and p.last_completed = c.seq_num - 1), false) as is_held,
    p.seq_num, p.op_type, p.numel_in, p.collective, p.user_location, p.last_enqueued,
    p.last_completed, p.file_id, p.line_no, p.text
from placed as p
full join (select distinct job_id, attempt, rank from failure_signal
    where signal = 'timeout' and rank is not null)
    as s
    on s.job_id = p.job_id
    and s.attempt = p.attempt and s.rank = p.rank
left join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt
