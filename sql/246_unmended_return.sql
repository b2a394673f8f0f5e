-- A target that came back into its cluster and was not brought what was written while it was away: the rebalance of its return did not begin on it.
-- grain: one row a return
-- reads: ais_event
-- stored: yes
-- note: A target asks its neighbours for what it lacks while a rebalance runs on it, and after one that was broken off there; where none has begun, it answers that the object does not exist. until_ns: when one began on it after all, else the end of time.
create or replace view unmended_return as
with come as (
    select cluster, peer_node_id as node_id, min(utc_ns) as returned_ns
    from ais_event
    where pattern = 'ais_smap_node_joined' and contains(text, 'join-target') and peer_node_id is not null
    group by cluster, peer_node_id, regexp_extract(text, 'new Smap (v\d+)', 1)
),
begun as (
    select cluster, node_id, utc_ns from ais_event where pattern = 'ais_rebalance_started' and contains(text, '- running x-rebalance')
),
failed as (
    select cluster, utc_ns, file_id, line_no
    from ais_event
    where pattern in ('ais_rebalance_failed', 'ais_rebalance_not_started', 'ais_rebalance_endpoint_busy')
),
waited as (
    select c.cluster, c.node_id, c.returned_ns, coalesce(min(b.utc_ns), 9223372036854775807) as until_ns
    from come as c
    left join begun as b on b.cluster = c.cluster and b.node_id = c.node_id and b.utc_ns >= c.returned_ns
    group by c.cluster, c.node_id, c.returned_ns
)
select
    w.cluster, w.node_id, w.returned_ns, w.until_ns,
    arg_min(f.file_id, (f.utc_ns, f.file_id, f.line_no)) as file_id,
    arg_min(f.line_no, (f.utc_ns, f.file_id, f.line_no)) as line_no
from waited as w
join failed as f on f.cluster = w.cluster and f.utc_ns >= w.returned_ns and f.utc_ns < w.until_ns
group by w.cluster, w.node_id, w.returned_ns, w.until_ns
