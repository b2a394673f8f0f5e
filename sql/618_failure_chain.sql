-- A chain that has to do with a failure: tied to one of its ranks, or part of its verdict.
-- grain: one row a failure and chain
-- reads: chain_rank_match, root_cause, culprit_cause, get_batch_chain, storage_link, threshold
-- case: kept
-- note: position 1 is the chain of the verdict. Chains are kept if a culprit is tied to them or if
-- note: they are its verdict's; those that only share the time with other ranks are noise.
create or replace view failure_chain as
with matched as (
    select
        m.failure_id, m.chain_id,
        max(m.score) as score,
        list(distinct m.rank order by m.rank) as ranks,
        arg_max(m.match_kind, (m.score, m.match_kind)) as match_kind,
        bool_or(u.rank is not null) as is_culprit_chain
    from chain_rank_match as m
    left join culprit_cause as u on u.failure_id = m.failure_id and u.rank = m.rank
    where m.score >= (select value from threshold where name = 'chain_score')
    group by m.failure_id, m.chain_id
),
verdict as (
    select r.failure_id, coalesce(r.chain_id, c.chain_id) as chain_id, r.rank
    from root_cause as r
    left join storage_link as l on l.failure_id = r.failure_id and l.node_id = r.node_id
        and l.rank = r.rank
    left join get_batch_chain as c on c.fault_id = l.fault_id
    where r.place = 1 and r.storage_verdict = 'guilty'
        and coalesce(r.chain_id, c.chain_id) is not null
    qualify row_number() over (partition by r.failure_id order by l.score desc, l.chain_id) = 1
)
select
    coalesce(v.failure_id, m.failure_id) as failure_id,
    coalesce(v.chain_id, m.chain_id) as chain_id,
    coalesce(m.match_kind, 'time') as match_kind,
    coalesce(m.ranks, [v.rank]) as ranks,
    coalesce(m.score, 0.6) as score,
    v.chain_id is not null as is_verdict,
    row_number()
        over (partition by coalesce(v.failure_id, m.failure_id)
            order by (v.chain_id is not null) desc, m.score desc, coalesce(v.chain_id, m.chain_id))
            as position
from verdict as v
full join (select * from matched where is_culprit_chain) as m on m.failure_id = v.failure_id
    and m.chain_id = v.chain_id
