-- What the last stack of a rank shows that it was doing, and whether it waits as those of the
-- others do.
-- grain: one row a rank of a failed attempt of which a stack was taken
-- reads: failed_attempt, stack_process
-- case: yes
-- note: A rank that waits for its DataLoader worker does what that does. is_waiting: its stack is
-- note: in a collective, or shows no other activity in the calls that most stacks of the job are
-- note: in; null where nothing tells. is_odd_call: where a job is known from its stacks alone and
-- note: all wait, this rank alone is in another collective than all others.
create or replace view stack_activity as
with main as (
    select * from stack_process where kind = 'trainer' and moment_no = 1
    qualify row_number()
        over (partition by job_id, attempt, rank order by (activity is null), certainty desc,
            is_json, file_id, dump_no)
            = 1
),
child as (
    select * from stack_process where kind = 'worker' and moment_no = 1 and activity is not null
    qualify row_number()
        over (partition by job_id, attempt, rank order by (activity <> 'storage_wait'),
            (activity <> 'data_loading'), certainty desc, is_json, file_id, dump_no)
            = 1
),
stack as (
    select m.job_id, m.attempt, m.rank, coalesce(c.activity, m.activity) as activity,
        coalesce(c.certainty, m.certainty) as confidence, coalesce(c.file_id, m.file_id) as file_id,
        case when c.file_id is not null then c.line_no else m.line_no end as line_no,
        coalesce(c.text, m.text) as text,
        list_filter(m.calls, lambda f: contains(f, '(distributed_c10d.py)'))[-1] as call
    from main as m
    left join child as c on c.job_id = m.job_id and c.attempt is not distinct from m.attempt
        and c.rank = m.rank and m.activity = 'worker_wait'
),
doing as (
    select f.job_id, f.attempt, s.rank, coalesce(s.activity, 'unknown') as activity,
        coalesce(regexp_matches(s.text, '\((/[^)]*/)?[\w.-]+\.py(:\d+)?\)')
            and not regexp_matches(s.text, '(site|dist)-packages|lib/python'), false)
            as is_own_code,
        case when s.activity is not null then s.confidence when is_own_code then 0.55 else 0.5 end
            as confidence,
        bool_or(s.activity is null and s.line_no is not null)
            over (partition by f.job_id, f.attempt, s.rank) as is_blank,
        case when f.stood_ns is not null and s.activity in ('collective', 'backward')
            then s.call end as call,
        s.file_id, s.line_no, s.text
    from failed_attempt as f
    join stack as s on s.job_id = f.job_id and coalesce(s.attempt, f.attempt) = f.attempt
    qualify row_number()
        over (partition by f.job_id, f.attempt, s.rank order by (s.attempt is not null),
            s.confidence desc, s.file_id)
            = 1
),
dump as (
    select * from stack_process where kind = 'trainer' and moment_no = 1 and len(calls) > 0
    qualify row_number()
        over (partition by job_id, rank order by len(calls) desc, is_json, file_id, dump_no) = 1
),
class as (
    select d.job_id, list(distinct d.rank) as ranks,
        row_number() over (partition by d.job_id order by count(*) desc,
            coalesce(mode(coalesce(a.activity, d.activity)
                order by coalesce(a.activity, d.activity)) in ('collective', 'backward'), false)
                desc, min(d.rank)) = 1 as is_largest
    from dump as d
    left join doing as a on a.job_id = d.job_id and a.rank = d.rank
    group by d.job_id, d.calls
),
placed as (
    select a.*, a.activity in ('collective', 'backward')
            or (c.is_largest and a.activity in ('compute', 'unknown')) as is_waiting,
        count(*) over (partition by a.job_id, a.attempt, a.call) as same_count
    from doing as a
    left join (select job_id, is_largest, unnest(ranks) as rank from class) as c
        on c.job_id = a.job_id and c.rank = a.rank
)
select
    job_id, attempt, rank, activity, is_own_code, confidence, is_blank, is_waiting,
    count(*) filter (where is_waiting) over whole as waiting_count,
    count(*) filter (where not is_waiting) over whole as elsewhere_count,
    same_count = 1 and count(*) over whole > 2 and count(call) over whole = count(*) over whole
        and count(*) filter (where same_count = 1) over whole = 1 as is_odd_call,
    file_id, line_no, text
from placed
window whole as (partition by job_id, attempt)
