-- For which spans the logs of each AIStore node are available.
select cluster, node_id, span_no, started_at, ended_at, file_count
from node_coverage
order by cluster, node_id, span_no
