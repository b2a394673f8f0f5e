-- x-get-batch chains: where they began, requests broken, steps.
select chain_id, cluster, started_at, ended_at, suspect_node_id, designated_node_id, fault_kind, xid, wid_count, step_count
from get_batch_chain
order by started_at
