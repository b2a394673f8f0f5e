-- A Flight Recorder dump or a stack of a rank of a failed job, or that only others have one.
-- grain: one row a failure, rank and kind of capture
-- reads: failure_case, failed_rank, fr_failure, fr_dump, stack_process
-- case: yes
create or replace view dump_coverage as
with part as (
    select f.failure_id, f.job_id, f.attempt, coalesce(g.path_attempt, f.attempt) as path_attempt,
        f.hang_start_ns, f.ended_ns, r.rank
    from failure_case as f
    join failed_rank as r on r.job_id = f.job_id and r.attempt = f.attempt
    left join fr_failure as g on g.job_id = f.job_id and g.attempt = f.attempt
),
dump as (
    select
        p.failure_id, p.job_id, p.rank, d.state as dump_state, d.problem, d.first_ns, d.last_ns,
        d.file_id
    from part as p
    left join fr_dump as d
        on d.job_id = p.job_id and d.path_attempt = p.path_attempt and d.rank = p.rank
    where exists (
        from fr_dump as o where o.job_id = p.job_id and o.path_attempt = p.path_attempt
    )
    qualify row_number() over (
        partition by p.failure_id, p.rank order by (d.state = 'used') desc nulls last, d.file_id
    ) = 1
),
stack as (
    select p.failure_id, p.job_id, p.rank, s.file_id, s.line_no,
        s.taken_ns, s.taken_ns between p.hang_start_ns and p.ended_ns as is_of_hang
    from part as p
    left join stack_process as s on s.job_id = p.job_id and s.rank = p.rank
        and coalesce(s.attempt, p.attempt) = p.attempt
    where exists (
        from stack_process as o
        where o.job_id = p.job_id and coalesce(o.attempt, p.attempt) = p.attempt
    )
    qualify row_number() over (
        partition by p.failure_id, p.rank
        order by s.taken_ns desc nulls last, s.kind desc, s.file_id, s.dump_no
    ) = 1
)
select
    failure_id, job_id, rank, 'dump' as kind, 'dump of rank ' || rank::varchar as "of",
    first_ns as started_ns, last_ns as ended_ns,
    case
        when dump_state is null then 'missing'
        when problem is not null or dump_state = 'unreadable' then 'cut'
        when dump_state = 'used' then 'complete'
        else 'unknown'
    end as state,
    case
        when dump_state is null then 'other ranks have a Flight Recorder dump, this one has none'
        else coalesce('it could not be read whole: ' || problem, case dump_state
            when 'used' then 'it was read whole, and it belongs to this failure'
            else 'it is not used: ' || replace(dump_state, '_', ' ')
        end)
    end as because,
    file_id, null as line_no
from dump
union all
select
    failure_id, job_id, rank, 'stack' as kind, 'stack of rank ' || rank::varchar as "of",
    taken_ns as started_ns, taken_ns as ended_ns,
    case
        when file_id is null then 'missing'
        when is_of_hang then 'complete'
        else 'unknown'
    end as state,
    case
        when file_id is null then 'other ranks have a stack, this one has none'
        when is_of_hang then 'it was taken while the ranks waited'
        else 'no line shows that it was taken while the ranks waited'
    end as because,
    file_id, line_no
from stack
