-- A kind of line of role cause that no hypothesis of a failure cites.
-- grain: one row a failure and pattern
-- reads: failure_case, triage, evidence, ruled_out, worker_event
-- case: yes
-- note: Every line of role cause that came before the report of the failure is cited by a
-- note: hypothesis, is ruled out, or is here.
create or replace view uncited_cause as
with accounted as (
    select e.failure_id, w.pattern
    from evidence as e
    join worker_event as w on w.file_id = e.file_id and w.line_no = e.line_no
    union
    select r.failure_id, w.pattern
    from ruled_out as r
    join worker_event as w on w.file_id = r.file_id and w.line_no = r.line_no
)
select
    f.failure_id, t.pattern, any_value(t.title) as title, min(w.failure_class) as failure_class,
    case when min(t.rank) = max(t.rank) then min(t.rank) end as rank,
    sum(t.line_count)::bigint as line_count, min(t.file_id) as file_id,
    arg_min(t.line_no, (t.file_id, t.line_no)) as line_no
from failure_case as f
join triage as t on t.job_id = f.job_id and t.attempt = f.attempt and t.role = 'cause'
join worker_event as w
    on w.file_id = t.file_id and w.line_no = t.line_no and w.pattern = t.pattern
where coalesce(w.utc_ns <= f.heard_ns, true) and not exists (
    from accounted as a where a.failure_id = f.failure_id and a.pattern = t.pattern
)
group by f.failure_id, t.pattern
