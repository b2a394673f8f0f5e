-- On which side of AIStore an error counter grew inside a failure's window: proxies, targets or
-- both, and at which node most.
-- grain: one row a failure, cluster and error counter
-- reads: failure_counter_delta
-- case: kept
-- note: error_ratio is err / (ok + err) in the intervals between statistics lines that touch the
-- note: window; for GetBatch err.getbatch.n / getbatch.n, which already counts the failed ones.
-- note: Soft errors count entries, of which no counter says how many were asked for.
-- note: Errors that stay level at the proxies while they climb at one target point at that target.
create or replace view failure_error_side as
with error as (
    select
        failure_id, cluster, node_id, node_role, counter, before, inside, inside_least, inside_most,
        coalesce(inside_most, inside) as met, file_id, line_no,
        replace(counter, 'err.', '') as ok_counter
    from failure_counter_delta
    where is_error and counter like '%.n'
),
rated as (
    select
        e.*,
        case
            when e.ok_counter = 'getbatch.n'
                then e.met / nullif(greatest(coalesce(o.inside_most, o.inside), e.met), 0)
            else e.met / nullif(coalesce(o.inside_most, o.inside) + e.met, 0) end
            as error_ratio
    from error as e
    left join failure_counter_delta as o on o.failure_id = e.failure_id and o.cluster = e.cluster
        and o.node_id = e.node_id and o.counter = e.ok_counter
)
select
    failure_id,
    cluster,
    counter,
    case
        when coalesce(sum(inside) filter (where node_role = 'target'), 0) <= 0 then 'proxy'
        when coalesce(sum(inside) filter (where node_role = 'proxy'), 0) <= 0 then 'target'
        else 'both'
    end as side,
    round(sum(before) filter (where node_role = 'proxy'), 1) as proxy_before,
    round(sum(inside) filter (where node_role = 'proxy'), 1) as proxy_inside,
    round(sum(before) filter (where node_role = 'target'), 1) as target_before,
    round(sum(inside) filter (where node_role = 'target'), 1) as target_inside,
    sum(coalesce(inside_least, inside)) as inside_least,
    sum(coalesce(inside_most, inside)) as inside_most,
    arg_max(node_id, (inside, node_id)) as top_node_id,
    round(max(inside) / nullif(sum(inside), 0), 3) as top_share_ratio,
    round(arg_max(error_ratio, (inside, node_id)), 4) as top_error_ratio,
    arg_max(file_id, (inside, node_id)) as file_id,
    arg_max(line_no, (inside, node_id)) as line_no
from rated
group by failure_id, cluster, counter
having sum(inside) > 0
