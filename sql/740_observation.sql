-- A fact that speaks for or against what a rule says of a failure, or that the rule is blind.
-- grain: one row a failure, rule and line or term for or against it, or a blind rule
-- reads: rule_line, finding, ais_event, worker_event
-- public: yes
-- note: observation is the rule, the side it speaks for and its number among the rule's facts. A
-- note: blind rule has one row without a line. from_at and to_at are the edges of the moment.
create or replace view observation as
with numbered as (
    select
        *, row_number() over (
            partition by failure_id, rule, speaks order by file_id, line_no, why, term
        ) as fact_no
    from rule_line
    where rule_state <> 'blind'
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
    n.failure_id, n.rule || '_' || n.speaks || '_' || n.fact_no::varchar as observation, n.rule,
    n.rule_state, n.speaks, coalesce(w.rank, n.rank) as rank,
    coalesce(a.node_id, n.node_id) as node_id, n.term, n.strength, n.weight,
    make_timestamp_ns(coalesce(a.utc_ns, w.utc_ns)) as from_at,
    make_timestamp_ns(coalesce(a.utc_ns, w.latest_ns)) as to_at, n.why, n.file_id, n.line_no
from numbered as n
left join ais_event as a on a.file_id = n.file_id and a.line_no = n.line_no
left join worker as w on w.file_id = n.file_id and w.line_no = n.line_no
union all by name
select
    failure_id, finding || '_blind' as observation, finding as rule, state as rule_state, rank,
    node_id, 'it cannot be judged from these logs: ' || statement as why
from finding
where state = 'blind'
