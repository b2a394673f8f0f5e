-- A request that a chain of a failure broke, and the rank whose it is, as far as the job's logs
-- tell.
-- grain: one row a failure, chain and request
-- reads: failure_chain, get_batch_chain, get_batch_chain_step, chain_request, rank_request,
-- reads: ingested_file
-- case: kept
-- note: told_by is wid where a line of the rank names the request, count where the rank says, at
-- note: that moment (3 s either way), that as many entries came as the server had put together: of
-- note: several requests the nearest, and no rank where lines of two fit. Null: no log of the job
-- note: says whose it is.
create or replace view broken_request as
with broken as (
    select c.failure_id, c.chain_id, c.position, g.cluster, q.wid, q.designated_node_id, q.first_ns
    from failure_chain as c
    join get_batch_chain as g on g.chain_id = c.chain_id
    join chain_request as q on q.cluster = g.cluster and q.root_key = g.root_key
),
named as (
    select failure_id, wid, any_value(rank order by rank) as rank,
        bool_or(outcome = 'retry') as is_retried, min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no
    from rank_request
    where wid is not null
    group by failure_id, wid
),
fitting as (
    select r.failure_id, b.chain_id, b.wid, r.rank, r.file_id, r.line_no,
        greatest(s.utc_ns - r.to_ns, r.from_ns - s.utc_ns, 0) as far_ns, s.utc_ns
    from broken as b
    join get_batch_chain_step as s on s.chain_id = b.chain_id and s.wid = b.wid
        and s.step in ('short_batch', 'aborted', 'client_gone')
    join rank_request as r on r.failure_id = b.failure_id and r.cluster = b.cluster
        and r.wid is null and r.outcome in ('error', 'short', 'retry')
        and r.received_count < r.expected_count and r.received_count = coalesce(s.received_count, 0)
            and s.utc_ns between r.from_ns - 3000000000 and r.to_ns + 3000000000
    where not exists (from named as n where n.failure_id = b.failure_id and n.wid = b.wid)
),
sole as (
    select failure_id, chain_id, wid
    from fitting
    group by failure_id, chain_id, wid
    having count(distinct rank) = 1
),
nearest as (
    select t.*
    from fitting as t
    qualify row_number()
        over (partition by t.failure_id, t.file_id, t.line_no order by t.far_ns, t.utc_ns desc,
            t.wid)
            = 1
),
counted as (
    select e.failure_id, e.chain_id, e.wid, any_value(e.rank) as rank, min(e.file_id) as file_id,
        arg_min(e.line_no, (e.file_id, e.line_no)) as line_no
    from nearest as e
    join sole as s on s.failure_id = e.failure_id and s.chain_id = e.chain_id and s.wid = e.wid
    group by e.failure_id, e.chain_id, e.wid
)
select
    b.failure_id, b.chain_id, b.position, b.wid, b.designated_node_id, b.first_ns,
    coalesce(n.rank, t.rank) as rank,
    case when n.wid is not null then 'wid' when t.wid is not null then 'count' end as told_by,
    coalesce(n.is_retried, false) as is_retried,
    p.path,
    coalesce(n.line_no, t.line_no) as line_no,
    coalesce(n.file_id, t.file_id) as file_id
from broken as b
left join named as n on n.failure_id = b.failure_id and n.wid = b.wid
left join counted as t on t.failure_id = b.failure_id and t.chain_id = b.chain_id and t.wid = b.wid
left join ingested_file as p on p.file_id = coalesce(n.file_id, t.file_id)
