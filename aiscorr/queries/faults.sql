-- What was wrong with AIStore nodes, in order (-p node=ID).
-- without rows: the AIStore logs show no fault of a node
select n.cluster, n.node_id, n.role, n.fault_kind, n.started_at, n.ended_at, n.last_sign_at, n.weight, n.witness_count, i.path, n.line_no
from node_fault as n
left join ingested_file as i on i.file_id = n.file_id
where n.node_id = $node or $node is null
order by n.started_at, n.node_id
