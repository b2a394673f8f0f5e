-- Runs of every AIStore daemon: start, end, and why it ended.
select n.cluster, n.node_id, n.process_seq, n.started_at, n.ended_at, n.end_reason, i.path, n.line_no
from node_process as n
left join ingested_file as i on i.file_id = n.file_id
order by 1, 2, 3
