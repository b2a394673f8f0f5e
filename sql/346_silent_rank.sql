-- A rank that kept silent while others reported the time-out: whether its own lines show trouble,
-- and whether its host fell silent as a whole.
-- grain: one row a silent rank of a failed attempt
-- reads: rank_suspect, rank_host, rank_position, failure_signal, worker_event, stuck_collective,
-- reads: stack_process, threshold
-- case: yes
-- note: Trouble counts that went on when the others waited, and as long as that of any of them;
-- note: that a watcher took the stack of a rank as it made no step is trouble of that rank.
create or replace view silent_rank as
with agent as (
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
trouble as (
    select f.job_id, f.attempt, f.rank, max(f.latest_ns) as last_ns
    from failure_signal as f
    join rank_suspect as q on q.job_id = f.job_id and q.attempt = f.attempt and q.rank = f.rank
        and q.basis = 'silent'
    where f.signal in ('retry', 'error', 'chained', 'crash')
    group by f.job_id, f.attempt, f.rank
    qualify max(f.latest_ns) >= max(max(f.latest_ns))
        over (partition by f.job_id, f.attempt)
            - (select value * 1000000000 from threshold where name = 'trouble_over_s')
),
watched as (
    select distinct job_id, attempt, rank
    from stack_process
    where rank is not null and not coalesce(activity in ('collective', 'backward'), false)
)
select
    s.job_id, s.attempt, s.rank, s.basis, s.certainty, s.weight, s.file_id, s.line_no, s.text,
    h.rank_count,
    coalesce(t.rank, d.rank) is not null as is_troubled,
    count(coalesce(t.rank, d.rank)) over same as troubled_count,
    count(*) over same > 1 and min(h.place) over same = max(h.place) over same
        and count(*) over same = min(h.place_count) over same
        and count(w.file_id) over same = count(*) over same and o.job_id is not null as is_of_host
from rank_suspect as s
join rank_host as h on h.job_id = s.job_id and h.attempt = s.attempt and h.rank = s.rank
left join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt
left join trouble as t on t.job_id = s.job_id and t.attempt = s.attempt and t.rank = s.rank
    and coalesce(t.last_ns >= k.hang_start_ns, true)
left join watched as d on d.job_id = s.job_id and d.attempt = s.attempt and d.rank = s.rank
left join whole as w on w.job_id = s.job_id and w.attempt = s.attempt and w.file_id = s.file_id
left join same_call as o on o.job_id = s.job_id and o.attempt = s.attempt
where s.basis = 'silent'
window same as (partition by s.job_id, s.attempt)
