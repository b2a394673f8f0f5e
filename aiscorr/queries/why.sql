-- Every rule of a failure with what it weighs, fired rules first (-p failure=ID); a blind rule says what it needs.
with shown as (
    select failure_id
    from failure
    where failure_id = $failure or job_id = $failure or $failure is null
    order by ended_at desc nulls last
    limit 1
),
ranked as (
    select f.failure_id, f.finding, f.state, f.failure_class, f.score, f.statement,
        row_number() over (order by
            case f.state when 'fired' then 1 when 'blind' then 2 else 3 end,
            f.failure_class is null, f.score desc, f.finding
        ) as rule_no
    from finding as f
    join shown as s on s.failure_id = f.failure_id
)
select r.finding as rule, r.state, r.failure_class, r.score, o.speaks, o.term, o.strength, o.weight, o.why,
    case when i.path is not null then i.path || coalesce(':' || o.line_no::varchar, '') end as line,
    r.statement
from ranked as r
left join observation as o on o.failure_id = r.failure_id and o.rule = r.finding
left join ingested_file as i on i.file_id = o.file_id
order by r.rule_no, abs(o.weight) desc nulls last, o.term nulls last, o.speaks desc, i.path, o.line_no
