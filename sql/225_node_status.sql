-- What an AIStore node said of itself when it was asked (node_status), or that the cluster map
-- lists it where it did not answer.
-- grain: one row a node and moment it was asked
-- reads: node_snapshot, ais_file
-- public: yes
-- note: started_at is the moment of asking less the daemon's own uptime, which it counts in steps
-- note: of about 10 s. A saved answer states no time, so that of its file is taken, and may state
-- note: no cluster.
create or replace view node_status as
with known as (
    select node_id, max(cluster) as cluster
    from ais_file
    group by node_id
    having count(distinct cluster) = 1
)
select
    coalesce(nullif(s.cluster, ''), k.cluster, 'unknown') as cluster,
    s.node_id,
    coalesce(s.node_role, 'target') as node_role,
    make_timestamp_ns(s.sampled_ns) as sampled_at,
    s.is_answered,
    make_timestamp_ns(s.sampled_ns - s.up_ns) as started_at,
    s.version,
    s.pod,
    s.smap_version,
    s.public_endpoint,
    s.control_endpoint,
    s.data_endpoint,
    s.used_pct,
    s.memory_used_pct,
    s.load_1m,
    s.file_id,
    s.line_no,
    s.sampled_ns,
    s.up_ns
from node_snapshot as s
left join known as k on k.node_id = s.node_id
