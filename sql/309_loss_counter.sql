-- A statistics line by which an AIStore target had let go of objects: deleted behind its back, or
-- evicted.
-- grain: one row a counter and statistics line
-- reads: counter_delta
-- stored: yes
create or replace view loss_counter as
select cluster, node_id, previous_ns, utc_ns, file_id, line_no, counter
from counter_delta
where counter in ('remote.deleted.del.n', 'lru.evict.n') and delta > 0
