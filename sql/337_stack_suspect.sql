-- A rank whose stack stands elsewhere while the stacks of most others wait in a collective.
-- grain: one row a rank of a failed attempt
-- reads: rank_activity, rank_position, stuck_collective, stack_class, stack_process, failed_attempt
-- case: yes
-- note: Equal stacks prove no equal positions, and a stack elsewhere proves no lateness: NCCL's
-- note: collectives are asynchronous, so a rank whose counters or watchdog show that it had entered
-- note: what the others wait in is none of these. Where a job is known from its stacks alone and
-- note: all wait, the one rank in another collective than all others is suspected too.
create or replace view stack_suspect as
with class as (
    select job_id, class_no, unnest(ranks) as rank
    from stack_class
),
stood as (
    select
        a.job_id, a.attempt, a.rank, a.activity, a.confidence, a.file_id, a.line_no, a.text,
        p.rank is not null and p.last_enqueued is not null as is_placed,
        a.activity in ('collective', 'backward')
            or (c.class_no = 1 and a.activity in ('compute', 'unknown')) as is_waiting,
        coalesce(p.is_waiting, false)
            or coalesce(p.last_enqueued >= k.seq_num, false) as has_entered
    from rank_activity as a
    left join class as c on c.job_id = a.job_id and c.rank = a.rank
    left join stuck_collective as k on k.job_id = a.job_id and k.attempt = a.attempt
    left join rank_position as p on p.job_id = a.job_id and p.attempt = a.attempt
        and p.rank = a.rank
    where a.witness = 'stack'
),
counted as (
    select
        *,
        count(*) filter (where is_waiting) over (partition by job_id, attempt) as waiting_count,
        count(*) filter (where not is_waiting)
            over (partition by job_id, attempt) as elsewhere_count,
        count(*) filter (where is_waiting and has_entered)
            over (partition by job_id, attempt) as entered_count
    from stood
),
called as (
    select
        p.job_id, p.attempt, p.rank, p.activity, p.file_id, p.line_no, p.text,
        list_filter(p.calls, lambda c: contains(c, '(distributed_c10d.py)'))[-1] as call
    from stack_process as p
    where p.kind = 'trainer' and p.rank is not null
    qualify row_number() over (
        partition by p.job_id, p.attempt, p.rank order by p.taken_ns desc, p.file_id, p.dump_no
    ) = 1
),
parted as (
    select
        c.*,
        count(*) over (partition by c.job_id, c.attempt, c.call) as same_count,
        count(*) over (partition by c.job_id, c.attempt) as rank_count,
        bool_and(c.activity in ('collective', 'backward') and c.call is not null)
            over (partition by c.job_id, c.attempt) as is_all_waiting
    from called as c
    join failed_attempt as f on f.job_id = c.job_id and f.attempt = coalesce(c.attempt, 0)
        and f.stood_ns is not null
)
select
    job_id,
    attempt,
    rank,
    'stack' as basis,
    activity,
    case when elsewhere_count > 1 or confidence < 0.9 then 0.6 else 0.8 end as certainty,
    elsewhere_count,
    is_placed,
    file_id,
    line_no,
    text
from counted
where not is_waiting and not has_entered
    and (waiting_count > elsewhere_count
        or (waiting_count = elsewhere_count and entered_count = waiting_count))
    and activity <> 'compute'
union all
select
    job_id, coalesce(attempt, 0), rank, 'other_collective', activity, 0.6 as certainty, 1, false,
    file_id, line_no, text
from parted
where is_all_waiting and same_count = 1 and rank_count > 2
qualify count(*) over (partition by job_id, attempt) = 1
