-- An AIStore daemon with what its own logs and its answers to node_status say about it.
-- grain: one row a daemon of a cluster
-- reads: ais_file, ais_event, stats_line, node_process, node_status
-- public: yes
-- stored: yes
-- note: A daemon without a log and a status is what the lines of others call it: p[...] is a proxy.
-- note: A copy of warnings and errors alone (stderr, ERROR files) is no log of its node where whole
-- note: logs of others are available: it is silent of a node that goes away.
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
whole as (
    select distinct cluster, node_id
    from ais_file
    where contains(path, '.INFO.') or file_id in (select file_id from stats_line)
        or file_id in (select file_id from ais_event where severity = 'I')
),
mentioned as (
    select cluster, peer_node_id as node_id,
        case when bool_or(contains(text, 'p[' || peer_node_id || ']')) then 'proxy' end as role
    from ais_event
    where peer_node_id is not null and node_effect is not null and subject = 'peer'
    group by cluster, peer_node_id
),
stated as (
    select
        cluster,
        node_id,
        max(node_role) as role,
        arg_max(pod, sampled_ns) filter (where pod is not null) as pod,
        arg_max(version, sampled_ns) filter (where version is not null) as version,
        max(file_id) as file_id,
        arg_max(line_no, file_id) as line_no
    from node_status
    group by cluster, node_id
),
every as (
    select cluster, node_id from file
    union
    select cluster, node_id from mentioned
    union
    select cluster, node_id from stated
),
seen as (
    select cluster, node_id, min(first_ns) as first_ns, max(last_ns) as last_ns
    from node_process
    group by cluster, node_id
)
select
    e.cluster,
    e.node_id,
    coalesce(f.role, a.role, m.role, 'target') as role,
    f.host,
    coalesce(a.pod, f.pod) as pod,
    coalesce(a.version, f.version) as version,
    coalesce(f.file_count, 0) as file_count,
    f.file_id is not null
        and (w.node_id is not null or e.cluster not in (select cluster from whole)) as has_log,
    make_timestamp_ns(s.first_ns) as first_at,
    make_timestamp_ns(s.last_ns) as last_at,
    coalesce(f.file_id, a.file_id) as file_id,
    case when f.file_id is null and a.file_id is not null then a.line_no else 1 end as line_no
from every as e
left join file as f on f.cluster = e.cluster and f.node_id = e.node_id
left join whole as w on w.cluster = e.cluster and w.node_id = e.node_id
left join stated as a on a.cluster = e.cluster and a.node_id = e.node_id
left join mentioned as m on m.cluster = e.cluster and m.node_id = e.node_id
left join seen as s on s.cluster = f.cluster and s.node_id = f.node_id
