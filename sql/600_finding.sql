-- What a rule says of a failure: fired, quiet, or blind because what it needs is missing.
-- grain: one row a failure and rule
-- reads: rule_term
-- public: yes
-- case: kept
-- note: score is 1 / (1 + exp(-sum)) of the weights of its terms (rule_term), each times its
-- note: strength. A term has a line where one shows it.
create or replace view finding as
with shape as (
    select
        null::varchar as failure_class, null::varchar as node_id, null::integer as rank,
        null::varchar as chain_id, null::struct(
            term varchar, strength double, file_id integer, line_no bigint, why varchar
        )[] as supports, supports as contradicts
),
every as (
    select * from shape where false
    union all by name
-- union of findings
),
sided as (
    select
        * replace (
            list_filter(coalesce(supports, []),
                lambda s: s.term is not null or s.file_id is not null) as supports,
            list_filter(coalesce(contradicts, []),
                lambda s: s.term is not null or s.file_id is not null) as contradicts
        )
    from every
),
weighed as (
    select s.failure_id, s.finding, sum(t.weight * coalesce(s.strength, 1)) as sum
    from (
        select failure_id, finding, unnest(list_concat(supports, contradicts), recursive := true)
        from sided
    ) as s
    join rule_term as t on t.rule = s.finding and t.term = s.term
    group by s.failure_id, s.finding
)
select
    s.failure_id, s.finding, s.state, s.failure_class, s.failure_kind, s.storage_verdict, s.node_id,
    s.rank, s.chain_id, coalesce(round(1 / (1 + exp(-w.sum)), 3), 0) as score, s.statement,
    s.supports, s.contradicts
from sided as s
left join weighed as w on w.failure_id = s.failure_id and w.finding = s.finding
