-- Every failure with its class, verdict, ranks and nodes, the newest first.
select f.failure_id, f.failure_class, f.storage_verdict, round(f.confidence, 2) as confidence, f.culprit_ranks,
    string_agg(n.node_id, ', ' order by n.position) as ais_nodes, f.first_error_at, f.ended_at, f.statement
from failure as f
left join failure_node as n on n.failure_id = f.failure_id
group by all
order by f.ended_at desc nulls last
