-- Every rule of a failure with what it weighs, fired rules first (-p failure=ID); a blind rule says what it needs, a quiet one does not hold.
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
select r.finding as rule, r.state, r.failure_class, if(r.state = 'fired', r.score, null) as score,
    if(o.weight < 0, 'against', o.speaks) as speaks, o.term, o.strength, o.weight, o.why,
    i.path || coalesce(':' || coalesce(p.locator, o.line_no::varchar), '') as line,
    if(r.state = 'fired', r.statement, null) as statement
from ranked as r
left join observation as o on o.failure_id = r.failure_id and o.rule = r.finding and r.state <> 'quiet'
left join ingested_file as i on i.file_id = o.file_id
left join fr_place as p on p.file_id = o.file_id and p.place_no = o.line_no
order by r.rule_no, abs(o.weight) desc nulls last, o.term nulls last, o.speaks desc, i.path, o.line_no
