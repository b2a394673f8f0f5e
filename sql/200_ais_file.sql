-- An AIStore log file with the node and cluster that wrote it, and the run of the daemon that it
-- begins in.
-- grain: one row an ingested AIStore log file or archive member
-- reads: ingested_file, ais_line
-- stored: yes
-- note: INFO and ERROR of one run differ in that word alone, and only INFO names its writer for
-- note: certain. A file that names nobody (a stderr copy) takes the node whose id stands in its
-- note: path, and the cluster of files beside it. Where no log names an id, one is read off a
-- note: folder that is named like an id and holds the logs of one host; else the host stands for
-- note: it. run_ns is the start of the run by the file's own clock. Files of one run share its
-- note: zone: INFO and ERROR with the same `Started up at`, and the rotations that follow. A
-- note: restart may come up in another zone, so it is another run.
create or replace view ais_file as
with file as (
    select
        file_id,
        path,
        regexp_replace(path, '[/!][^/!]*$', '') as folder,
        regexp_replace(path, '[.](INFO|WARNING|ERROR)[.]', '.') as run_path,
        node_id,
        coalesce(node_id_source in ('title', 'start_line'), false) as is_certain,
        node_role,
        nullif(cluster, '') as cluster,
        host,
        pod,
        version,
        date_method,
        is_utc,
        zone,
        modified_ns,
        first_ns
    from ingested_file
    where kind = 'ais_log' and state = 'ingested'
),
known as (
    select node_id, max(node_role) as node_role, cluster, folder, count(*) as file_count
    from file
    where node_id is not null
    group by node_id, cluster, folder
),
run_writer as (
    select run_path, min(node_id) as node_id
    from file
    where is_certain
    group by run_path
),
with_node as (
    select
        f.*,
        coalesce(if(f.is_certain, f.node_id, w.node_id), f.node_id, (
            select k.node_id
            from known as k
            where contains(f.path, k.node_id)
            order by length(k.node_id) desc, k.file_count desc, k.node_id
            limit 1
        )) as writer_id
    from file as f
    left join run_writer as w on w.run_path = f.run_path
),
with_cluster as (
    select
        w.*,
        coalesce(w.cluster, (
            select k.cluster
            from known as k
            where k.cluster is not null
                and (k.node_id = w.writer_id
                    or starts_with(k.folder, regexp_replace(w.folder, '[/!][^/!]*$', '')))
            order by
                (k.node_id = w.writer_id) desc,
                starts_with(k.folder, w.folder) desc,
                starts_with(k.folder, regexp_replace(w.folder, '[/!][^/!]*$', '')) desc,
                k.file_count desc
            limit 1
        ), 'unknown') as told_cluster
    from with_node as w
),
named as (
    select
        w.file_id, w.path, w.folder,
        coalesce(
            w.writer_id,
            case when min(w.host) over folder = max(w.host) over folder
                then nullif(regexp_extract(w.folder, '[/!](\w{8,13})$', 1), '') end,
            w.host,
            'unknown'
        ) as node_id,
        coalesce(w.node_role,
            (select max(k.node_role) from known as k where k.node_id = w.writer_id), 'target')
            as node_role,
        w.told_cluster as cluster, w.host, w.pod, w.version, w.date_method, w.is_utc, w.zone,
        w.modified_ns, w.first_ns, h.pattern, h.local_ns
    from with_cluster as w
    left join (
        select file_id, arg_min(pattern, line_no) as pattern, min(local_ns) as local_ns
        from ais_line
        where pattern in ('ais_process_started', 'ais_log_rotated')
        group by file_id
    ) as h on h.file_id = w.file_id
    window folder as (partition by w.folder)
)
select
    n.file_id, n.path, n.folder, n.node_id, n.node_role, n.cluster, n.host, n.pod, n.version,
    n.date_method, n.is_utc, n.zone, n.modified_ns,
    case n.pattern when 'ais_process_started' then n.local_ns
        when 'ais_log_rotated' then s.local_ns end
        as run_ns
from named as n
asof left join (
    select cluster, node_id, local_ns from named where pattern = 'ais_process_started'
) as s on s.cluster = n.cluster and s.node_id = n.node_id and n.first_ns >= s.local_ns
