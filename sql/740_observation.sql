-- A fact that speaks for or against what a rule says of a failure, or that the rule is blind.
-- grain: one row a failure, rule and line or term for or against it, or a blind rule
-- reads: finding, rule_term, link_term, ais_event, worker_event
-- public: yes
-- note: observation is the rule, the side it speaks for and its number among the rule's facts. A
-- note: blind rule has one row without a line. from_at and to_at are the edges of the moment.
-- note: weight is what the term adds to the sum of the rule, in log-odds: its weight in rule_term
-- note: times strength. A rule that did not fire weighs nothing. A term of link_term has no weight
-- note: of its own, and its strength is a factor of the link.
create or replace view observation as
with cited as (
    select failure_id, finding, state, node_id, rank, 'for' as speaks,
        unnest(supports, recursive := true)
    from finding
    where state <> 'blind'
    union all by name
    select failure_id, finding, state, node_id, rank, 'against' as speaks,
        unnest(contradicts, recursive := true)
    from finding
    where state <> 'blind'
),
numbered as (
    select
        c.*, coalesce(c.why, t.why, k.why) as reason,
        coalesce(c.strength, k.factor, if(c.term is not null, 1, null))::double as factor,
        case when c.state = 'fired' then round(t.weight * coalesce(c.strength, 1), 2) end::double
            as weight,
        row_number() over (
            partition by c.failure_id, c.finding, c.speaks
            order by c.file_id, c.line_no, reason, c.term
        ) as fact_no
    from cited as c
    left join rule_term as t on t.rule = c.finding and t.term = c.term
    left join link_term as k on k.term = c.term and t.term is null
),
worker as (
    select
        w.file_id, w.line_no, min(w.utc_ns) as utc_ns, max(w.latest_ns) as latest_ns,
        max(w.rank) as rank
    from worker_event as w
    semi join numbered as c on c.file_id = w.file_id and c.line_no = w.line_no
    group by w.file_id, w.line_no
)
select
    n.failure_id, n.finding || '_' || n.speaks || '_' || n.fact_no::varchar as observation,
    n.finding as rule, n.state as rule_state, n.speaks, coalesce(w.rank, n.rank) as rank,
    coalesce(a.node_id, n.node_id) as node_id, n.term, n.factor as strength, n.weight,
    make_timestamp_ns(coalesce(a.utc_ns, w.utc_ns)) as from_at,
    make_timestamp_ns(coalesce(a.utc_ns, w.latest_ns)) as to_at, n.reason as why, n.file_id,
    n.line_no
from numbered as n
left join ais_event as a on a.file_id = n.file_id and a.line_no = n.line_no
left join worker as w on w.file_id = n.file_id and w.line_no = n.line_no
union all by name
select
    failure_id, finding || '_blind' as observation, finding as rule, state as rule_state, rank,
    node_id, 'it cannot be judged from these logs: ' || statement as why
from finding
where state = 'blind'
