-- A hypothesis of why a job failed, the best first.
-- grain: one row a failure and hypothesis
-- reads: finding, threshold
-- public: yes
-- case: kept
-- note: place 1 is the verdict. A finding without a class is an observation and no hypothesis. A
-- note: hypothesis below confirm_score goes behind `undetermined`; where the best one accuses
-- note: storage and the next acquits it within verdict_margin, the storage verdict is open.
create or replace view root_cause as
with fired as (
    select
        *,
        failure_class = 'undetermined' as is_open,
        row_number() over (
            partition by failure_id
            order by (score < (select value from threshold where name = 'confirm_score')
                and failure_class <> 'undetermined'),
                score desc, failure_class
        ) as place
    from finding
    where state = 'fired' and failure_class is not null
),
rival as (
    select
        a.failure_id
    from fired as a
    join fired as b on b.failure_id = a.failure_id and b.place > a.place and not b.is_open
    where a.place = 1 and not a.is_open
        and a.score - b.score < (select value from threshold where name = 'verdict_margin')
        and (a.storage_verdict, b.storage_verdict)
            in (('guilty', 'innocent'), ('innocent', 'guilty'))
)
select distinct
    f.failure_id,
    f.place::integer as place,
    f.finding,
    f.failure_class,
    f.failure_kind,
    case when f.place = 1 and r.failure_id is not null then 'undetermined'
        else f.storage_verdict end
        as storage_verdict,
    f.node_id,
    f.rank,
    f.chain_id,
    round(f.score::double, 3) as score,
    upper(left(f.statement, 1)) || substr(f.statement, 2)
        || case when f.place = 1
            and r.failure_id is not null then '; another explanation is nearly as good' else '' end
            as statement,
    f.supports,
    f.contradicts
from fired as f
left join rival as r on r.failure_id = f.failure_id
