-- An AIStore daemon with what its own logs say about it.
-- grain: one row a daemon of a cluster
-- reads: ais_file, ais_event, node_process
-- public: yes
-- stored: yes
create or replace view node as
with file as (
    select
        cluster,
        node_id,
        mode(node_role order by node_role) as role,
        max(host) as host,
        max(pod) as pod,
        max(version) as version,
        count(*) as file_count,
        min(file_id) as file_id
    from ais_file
    group by cluster, node_id
),
mentioned as (
    select cluster, peer_node_id as node_id, count(*) as mention_count
    from ais_event
    where peer_node_id is not null and node_effect is not null and subject = 'peer'
    group by cluster, peer_node_id
),
seen as (
    select cluster, node_id, min(first_ns) as first_ns, max(last_ns) as last_ns
    from node_process
    group by cluster, node_id
)
select
    coalesce(f.cluster, m.cluster) as cluster,
    coalesce(f.node_id, m.node_id) as node_id,
    coalesce(f.role, 'target') as role,
    f.host,
    f.pod,
    f.version,
    coalesce(f.file_count, 0) as file_count,
    f.file_id is not null as has_log,
    make_timestamp_ns(s.first_ns) as first_at,
    make_timestamp_ns(s.last_ns) as last_at,
    f.file_id,
    1 as line_no
from file as f
full join mentioned as m on m.cluster = f.cluster and m.node_id = f.node_id
left join seen as s on s.cluster = f.cluster and s.node_id = f.node_id
