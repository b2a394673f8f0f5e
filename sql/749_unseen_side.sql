-- A side of a failure without a verdict of which not all was read, so that the cause may be there.
-- grain: one row a failure and side: ranks, nodes of AIStore or its storage, a rank without a name
-- reads: failure_case, root_cause, coverage
-- case: yes
-- note: Where ranks waited, no line states how many there are and no dump lists them, one may be
-- note: missing that no line names. Storage of which no log was read counts where its verdict is
-- note: open.
create or replace view unseen_side as
with open_case as (
    select
        f.failure_id, r.storage_verdict = 'undetermined' as is_storage_open,
        f.hang_start_ns is not null and not f.is_world_stated as may_have_more
    from failure_case as f
    join root_cause as r on r.failure_id = f.failure_id and r.place = 1
    where r.failure_class = 'undetermined'
),
part as (
    select
        o.failure_id, c.kind, list(c."of" order by c.rank, c."of") as things,
        case when count(*) = 1 then min(c.rank) end as rank,
        case when count(*) = 1 then min(c.node_id) end as node_id
    from open_case as o
    join coverage as c on c.failure_id = o.failure_id and c.kind in ('output', 'log')
    where c.state <> 'complete' and (o.is_storage_open or c."of" <> 'storage')
    group by o.failure_id, c.kind
)
select
    failure_id, case kind when 'log' then 'unseen_node' else 'unseen_rank' end as kind,
    'what was not read of ' || array_to_string(things[1:4], ', ') || case
        when len(things) > 4 then ' and ' || (len(things) - 4)::varchar || ' more' else ''
    end as what,
    rank, node_id
from part
union all
select
    failure_id, 'unseen_rank' as kind, 'a rank that no line read names' as what, null as rank,
    null as node_id
from open_case as o
where may_have_more and not exists (
    from coverage as c where c.failure_id = o.failure_id and c.kind = 'dump'
)
