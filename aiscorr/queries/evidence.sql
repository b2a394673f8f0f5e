-- The lines for and against each hypothesis (-p failure=ID); moment is as in the report: ~ before the latest that fits a line without a time of its own, `after` where it lies between event_at and latest_at.
with placed as (
    select failure_id, file_id, line_no, min(event_at) as event_at
    from timeline
    where not is_exact and source = 'worker'
    group by failure_id, file_id, line_no
)
select e.place, e.kind, e.why,
    case when p.event_at is not null then '~' when e.latest_at > e.event_at then 'after ' else '' end
        || replace(strftime(coalesce(p.event_at, e.event_at)::timestamp, '%H:%M:%S.%g'), '.000', '') as moment,
    e.event_at, e.latest_at, e.path, e.line_no, e.text
from evidence as e
left join placed as p on p.failure_id = e.failure_id and p.file_id = e.file_id and p.line_no = e.line_no
where e.failure_id = (select failure_id from failure where failure_id = $failure or job_id = $failure or $failure is null order by ended_at desc nulls last limit 1)
order by e.place, e.kind desc, e.event_at
