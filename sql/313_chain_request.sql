-- A batch request (wid) that a chain broke, and the designated target that was to assemble it.
-- grain: one row a chain and request
-- reads: chain_root, node
-- stored: yes
-- note: The proxy's redirect names the designated target (tid=); without one it is the target that
-- note: printed the request's end (a proxy prints an answer that it hands on).
create or replace view chain_request as
with line as (
    select
        c.cluster, c.root_key, c.wid, c.utc_ns,
        nullif(regexp_extract(c.text, '[?&]tid=([\w-]+)', 1), '') as named_id,
        case
            when c.step
                in ('short_batch', 'aborted', 'abort_broadcast', 'entry_timeout', 'soft_errors',
                    'rejected', 'missing_entry')
            and n.role is distinct from 'proxy' then c.node_id end
            as writer_id
    from chain_root as c
    left join node as n on n.cluster = c.cluster and n.node_id = c.node_id
    where c.wid is not null
)
select
    cluster,
    root_key,
    wid,
    coalesce(
        mode(named_id order by named_id) filter (where named_id is not null),
        mode(writer_id order by writer_id) filter (where writer_id is not null)
    ) as designated_node_id,
    min(utc_ns) as first_ns,
    count(*) as line_count
from line
group by cluster, root_key, wid
