-- What a rule has for or against it: a line, a term, or a term with the line that shows it.
-- grain: one row a failure, rule and line or term
-- reads: finding, rule_term, link_term
-- note: weight is what the term adds to the sum of the rule, in log-odds: its weight in rule_term
-- note: times strength. A rule that did not fire weighs nothing. A term of link_term has no weight
-- note: of its own, and its strength is a factor of the link.
create or replace view rule_line as
with cited as (
    select failure_id, finding, state, node_id, rank, 'for' as speaks,
        unnest(supports, recursive := true)
    from finding
    union all by name
    select failure_id, finding, state, node_id, rank, 'against' as speaks,
        unnest(contradicts, recursive := true)
    from finding
)
select
    c.failure_id, c.finding as rule, c.state as rule_state, c.speaks, c.term,
    coalesce(c.strength, k.factor, if(c.term is not null, 1, null))::double as strength,
    case when c.state = 'fired' then round(t.weight * coalesce(c.strength, 1), 2) end::double
        as weight,
    coalesce(c.why, t.why, k.why) as why, c.node_id, c.rank, c.file_id, c.line_no
from cited as c
left join rule_term as t on t.rule = c.finding and t.term = c.term
left join link_term as k on k.term = c.term and t.term is null
