-- A rank that kept the others waiting, or died first.
-- grain: one row a culprit rank of a failed attempt
-- reads: worker_event, rank_suspect, lost_host, departed_rank, rank_crash, rank_position,
-- reads: stuck_collective, failed_rank, rank_host, failure_signal, stack_process, threshold
-- case: yes
-- note: Who is named by peers or differs from the majority goes first, then who had not entered
-- note: the collective, together with who died before the hang began, or failed at the same moment
-- note: as one of those behind and with the same error; then who died first; then who alone stayed
-- note: silent, or those of the silent whose own lines show trouble, or that are a host as a
-- note: whole. A storage that fails its clients fails them in several ways: such errors are all
-- note: alike. Trouble of the silent counts that went on when the others waited, and as long as
-- note: that of any of them; that a watcher took the stack of a rank as it made no step is trouble
-- note: of that rank.
create or replace view culprit as
with size as (
    select job_id, attempt, count(*) as rank_count from failed_rank group by job_id, attempt
),
everywhere as (
    select c.job_id, c.attempt, c.pattern, c.message
    from rank_crash as c
    join failed_rank as r on r.job_id = c.job_id and r.attempt = c.attempt and r.rank = c.rank
    where c.signal = 'crash' and c.failure_class = 'software'
    group by c.job_id, c.attempt, c.pattern, c.message
    having count(distinct r.host) > 1
        and count(distinct r.host)
            = (select count(distinct coalesce(o.host, o.rank::varchar)) from failed_rank as o
                where o.job_id = c.job_id and o.attempt = c.attempt)
        and max(c.utc_ns)
            - min(c.utc_ns)
                <= (select value * 1000000000 from threshold where name = 'same_cause_s')
),
port
    as (select job_id, attempt, rank, min(utc_ns) as utc_ns from worker_event
        where pattern = 'nccl_ib_port_down' and rank is not null group by all),
crash as (
    select
        s.job_id, s.attempt, s.rank, s.basis, s.certainty, s.file_id, s.line_no, s.text, c.utc_ns,
        c.pattern, c.failure_class, k.hang_start_ns, k.spoke_ns,
        p.last_enqueued is null as is_outside, coalesce(p.is_waiting, false) as is_waiting, c.tier,
        coalesce(c.utc_ns <= k.hang_start_ns
            + (select value * 1000000000 from threshold where name = 'same_cause_s'),
            true)
            as is_before_hang,
        min(c.latest_ns) over (partition by s.job_id, s.attempt) as first_latest_ns,
        first_value(c.failure_class)
            over (partition by s.job_id, s.attempt order by c.latest_ns, c.utc_ns) as first_class,
        count(*) over (partition by s.job_id, s.attempt,
            if(c.failure_class in ('storage_io', 'data_loading_stall'), 'storage', c.pattern))
            as alike_count,
        c.failure_class = 'infrastructure' and c.tier = 'gpu'
            and (
                (min(r.host) over same = max(r.host) over same
                    and count(r.host) over same = count(*) over same)
                or min(s.file_id) over same = max(s.file_id) over same)
                as is_of_host
    from rank_suspect as s
    join rank_crash as c on c.job_id = s.job_id and c.attempt = s.attempt and c.rank = s.rank
    left join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
    left join rank_position as p on p.job_id = s.job_id and p.attempt = s.attempt
        and p.rank = s.rank
        left join failed_rank as r on r.job_id = s.job_id and r.attempt = s.attempt
            and r.rank = s.rank
    where s.basis in ('crash', 'killed')
        and not exists (select 1 from everywhere as e
            where e.job_id = c.job_id and e.attempt = c.attempt and e.pattern = c.pattern
                and e.message = c.message)
        and not (c.pattern = 'nccl_ib_completion_error'
            and exists (from port as o
                where o.job_id = c.job_id and o.attempt = c.attempt and o.utc_ns <= c.utc_ns)
            and not exists (from port as o
                where o.job_id = c.job_id and o.attempt = c.attempt
                    and o.rank = c.rank)) window same
            as (partition by s.job_id, s.attempt, c.pattern)
),
agent as (
    select distinct job_id, attempt, file_id
    from worker_event
    where starts_with(pattern, 'torchrun_') and role = 'consequence'
),
whole as (
    select distinct s.job_id, s.attempt, s.file_id
    from failure_signal as s
    join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
        and s.utc_ns >= k.spoke_ns
    where s.stamp_source = 'own'
    union
    select h.job_id, h.attempt, h.file_id
    from rank_host as h
    join agent as a on a.job_id = h.job_id and a.attempt = h.attempt
    where not exists (
        from agent as o
            where o.job_id = h.job_id and o.attempt = h.attempt and o.file_id = h.file_id
    )
),
same_call as (
    select job_id, attempt from rank_position where is_waiting
    group by job_id, attempt having count(distinct seq_num) <= 1 and count(distinct op_type) <= 1
),
troubled as (
    select f.job_id, f.attempt, f.rank
    from failure_signal as f
    join rank_suspect as q on q.job_id = f.job_id and q.attempt = f.attempt and q.rank = f.rank
        and q.basis = 'silent'
    left join stuck_collective as k on k.job_id = f.job_id and k.attempt = f.attempt
    where f.signal in ('retry', 'error', 'chained', 'crash')
    group by f.job_id, f.attempt, f.rank, k.hang_start_ns
    qualify max(f.latest_ns) >= max(max(f.latest_ns)) over (partition by f.job_id, f.attempt)
            - (select value * 1000000000 from threshold where name = 'trouble_over_s')
        and coalesce(max(f.latest_ns) >= k.hang_start_ns, true)
    union
    select job_id, attempt, rank from stack_process
    where rank is not null and not coalesce(activity in ('collective', 'backward'), false)
),
silent as (
    select
        s.*, h.rank_count, t.rank is not null as is_troubled,
        count(t.rank) over same as troubled_count,
        count(*) over same > 1 and min(h.place) over same = max(h.place) over same
            and count(*) over same = min(h.place_count) over same
            and count(w.file_id) over same = count(*) over same and o.job_id is not null
                as is_of_host
    from rank_suspect as s
    join rank_host as h on h.job_id = s.job_id and h.attempt = s.attempt and h.rank = s.rank
    left join troubled as t on t.job_id = s.job_id and t.attempt = s.attempt and t.rank = s.rank
    left join whole as w on w.job_id = s.job_id and w.attempt = s.attempt and w.file_id = s.file_id
    left join same_call as o on o.job_id = s.job_id and o.attempt = s.attempt
    where s.basis = 'silent'
    window same as (partition by s.job_id, s.attempt)
),
candidate as (
    select s.job_id, s.attempt, s.rank, s.basis, s.certainty, s.file_id, s.line_no, s.text,
        1 as place
    from (select *, count(*) over (partition by job_id, attempt) as named_count from rank_suspect
        where basis = 'named')
        as s
    left join size as z on z.job_id = s.job_id and z.attempt = s.attempt
    where z.rank_count is null or s.named_count * 2 <= z.rank_count or z.rank_count = 1
    union all
    select job_id, attempt, rank, basis, certainty, file_id, line_no, text, 2 from rank_suspect
        where basis in ('mismatch', 'out_of_step')
    union all
    select job_id, attempt, rank, basis, certainty, file_id, line_no, text, 3 from rank_suspect
        where basis in ('behind', 'ahead', 'order')
    union all
    select job_id, attempt, rank, basis, certainty, file_id, line_no, text, 3 from crash
        where hang_start_ns is not null and is_outside and is_before_hang
    union all
    select c.job_id, c.attempt, c.rank, c.basis, c.certainty, c.file_id, c.line_no, c.text, 4
    from crash as c
    join size as z on z.job_id = c.job_id and z.attempt = c.attempt
    where coalesce(c.utc_ns <= c.first_latest_ns
        + (select value * 1000000000 from threshold where name = 'same_cause_s'),
        true)
        and (c.alike_count * 2 <= z.rank_count or z.rank_count = 1 or c.is_of_host)
        and (c.hang_start_ns is null or ((c.is_outside or c.is_before_hang) and not c.is_waiting)
            or c.tier = 'gpu'
            or (c.tier = 'process'
                and (c.pattern <> 'process_heap_corrupt'
                    or coalesce(c.utc_ns <= c.spoke_ns, true))))
    union all
    select c.job_id, c.attempt, c.rank, c.basis, c.certainty, c.file_id, c.line_no, c.text,
        case
            when exists (from crash as b
                join rank_suspect as s on s.job_id = b.job_id and s.attempt = b.attempt
                    and s.rank = b.rank and s.basis = 'behind'
                where b.job_id = c.job_id and b.attempt = c.attempt and b.pattern = c.pattern
                    and abs(b.utc_ns - c.utc_ns)
                        <= (select value * 1000000000 from threshold where name = 'same_cause_s'))
                then 3
            else 4 end
    from crash as c
    join size as z on z.job_id = c.job_id and z.attempt = c.attempt
    where c.hang_start_ns is not null and c.is_outside and not c.is_waiting
        and c.utc_ns <= c.spoke_ns
        and (c.failure_class = c.first_class
            or (c.failure_class in ('data', 'storage_io')
                and c.first_class in ('data', 'storage_io')))
        and c.alike_count * 2 <= z.rank_count
    union all
    select job_id, attempt, rank, basis, certainty, file_id, line_no, text, 5 from rank_suspect
        where basis in ('other_collective', 'unfinished', 'not_started', 'stack')
    union all
    select h.job_id, h.attempt, h.rank, 'lost_host', 0.8, h.file_id, h.line_no, h.text,
        case when c.is_echo then 0 else 5 end
        from lost_host as h
        left join (select job_id, attempt,
            bool_and(signal = 'crash' and failure_class = 'network') as is_echo
            from rank_crash group by all)
            as c
            on c.job_id = h.job_id
            and c.attempt = h.attempt
    union all
    select job_id, attempt, rank, basis, certainty, file_id, line_no, text, 7 from rank_suspect
        where basis = 'exited'
    union all
    select job_id, attempt, rank, 'departed', 0.5, file_id, line_no, null, 7 from departed_rank
    where is_gone
    union all
    select job_id, attempt, rank, basis, certainty, file_id, line_no, text, 6 from silent
    where (is_troubled and troubled_count * 2 <= rank_count)
        or (troubled_count = 0
            and (weight <= greatest(1, rank_count / 4)
                or (is_of_host and weight * 2 <= rank_count)))
),
first_place as (select job_id, attempt, min(place) as place from candidate group by job_id, attempt)
select
    c.job_id,
    c.attempt,
    c.rank,
    arg_max(c.basis, (c.certainty, c.basis)) as basis,
    max(c.certainty) as certainty,
    arg_max(c.file_id, (c.certainty, c.basis)) as file_id,
    arg_max(c.line_no, (c.certainty, c.basis)) as line_no,
    arg_max(c.text, (c.certainty, c.basis)) as text
from candidate as c
join first_place as f on f.job_id = c.job_id and f.attempt = c.attempt and f.place = c.place
group by c.job_id, c.attempt, c.rank
