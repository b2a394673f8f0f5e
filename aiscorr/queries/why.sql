-- Every rule of a failure that fired, and what it weighs; a blind rule says what it needs (-p failure=ID). start: what a rule begins with, wherever it fires.
with shown as (
    select failure_id
    from failure
    where failure_id = $failure or job_id = $failure or $failure is null
    order by ended_at desc nulls last
    limit 1
),
start as (
    select rule, first(term) as term from rule_term group by rule
),
found as (
    select f.finding as rule, f.state, f.failure_class, if(f.state = 'fired', f.score, null) as score,
        case when o.weight >= 0 or o.weight is null then o.speaks when b.rule is null then 'against' else 'start' end
            as speaks,
        o.term, o.strength, o.weight, o.why,
        i.path || coalesce(':' || coalesce(p.locator, o.line_no::varchar), '') as line, f.statement,
        row_number() over (partition by f.finding
            order by abs(o.weight) desc nulls last, o.term nulls last, o.speaks desc, i.path, o.line_no) as place
    from finding as f
    join shown as s on s.failure_id = f.failure_id
    left join observation as o on o.failure_id = f.failure_id and o.rule = f.finding
    left join start as b on b.rule = o.rule and b.term = o.term
    left join ingested_file as i on i.file_id = o.file_id
    left join fr_place as p on p.file_id = o.file_id and p.place_no = o.line_no
    where f.state <> 'quiet'
)
select rule, state, failure_class, score, speaks, term, strength, weight, why, line,
    if(state = 'fired' and place = 1, statement, null) as statement
from found
order by state <> 'fired', state, failure_class is null, score desc, rule, place
