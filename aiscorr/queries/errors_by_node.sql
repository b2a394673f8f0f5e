-- Warnings and errors of AIStore by node and pattern.
select cluster, node_id, node_role, pattern, severity, count(*) as line_count, min(event_at) as first_at, max(event_at) as last_at, any_value(message) as example
from ais_event
where severity in ('W', 'E')
group by cluster, node_id, node_role, pattern, severity
order by line_count desc, node_id
