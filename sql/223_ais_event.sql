-- A warning, an error or a recognised line of an AIStore daemon, each counted once whatever copies
-- of it were read.
-- grain: one row a record of a daemon
-- reads: ais_line, ais_file, clock, pattern
-- public: yes
-- stored: yes
-- note: INFO, ERROR and stderr files, archives and sidecar streams repeat records; copies are told
-- note: by node, time to the microsecond and text. severity is I, W, E, null for headers. A line
-- note: of an undated copy (stderr) that a dated file of the node holds too tells the moment, so
-- note: that what the copy alone holds (Go panics, the last errors before a kill) can be placed.
create or replace view ais_event as
with twin as (
    select a.file_id, a.line_no, a.local_ns, min(b.local_ns - k.shift_ns) as utc_ns
    from ais_line as a
    join ais_file as f on f.file_id = a.file_id and f.date_method = 'mtime'
    join ais_file as g on g.cluster = f.cluster and g.node_id = f.node_id
        and g.date_method <> 'mtime'
    join ais_line as b on b.file_id = g.file_id and b.text = a.text
    join clock as k on k.file_id = b.file_id
    where a.severity is not null
    group by a.file_id, a.line_no, a.local_ns
),
placed as (
    select
        a.file_id, a.line_no,
        a.byte_offset,
        f.path,
        f.cluster,
        f.node_id,
        f.node_role,
        a.process_no,
        coalesce(t.utc_ns + a.local_ns - t.local_ns, a.local_ns - k.shift_ns) as utc_ns,
        k.confidence as clock_confidence,
        row_number()
            over (partition by a.file_id, a.local_ns, a.text order by a.line_no) as copy_no,
        a.severity,
        a.source_loc,
        a.pattern,
        a.text,
        a.message_start,
        a.xid, a.wid, a.peer_node_id, a.endpoint, a.bucket, a.object, a.error, a.smap_version,
        a.smap_uuid, a.rebalance,
        a.mountpath, a.status_code, a.age_ns, a.received_count, a.is_streaming, a.capture
    from ais_line as a
    join ais_file as f on f.file_id = a.file_id
    join clock as k on k.file_id = a.file_id
    asof left join twin as t on t.file_id = a.file_id and a.line_no >= t.line_no
    where t.line_no is distinct from a.line_no
),
single as (
    select *
    from placed
    qualify row_number() over (
        partition by cluster, node_id, utc_ns, substr(text, message_start + 1), severity, copy_no
        order by (not contains(path, '.INFO')), contains(path, '!'), clock_confidence desc, file_id
    ) = 1
)
select
    s.file_id,
    s.line_no,
    s.byte_offset,
    s.path,
    s.cluster,
    s.node_id,
    s.node_role,
    make_timestamp_ns(s.utc_ns) as event_at,
    s.utc_ns,
    s.process_no,
    s.severity,
    s.pattern,
    p.tier,
    p.role,
    p.chain_step,
    p.node_effect,
    p.subject,
    s.xid,
    s.wid,
    s.peer_node_id,
    s.endpoint,
    s.bucket,
    s.object,
    s.error,
    s.smap_version,
    s.smap_uuid,
    s.rebalance,
    s.mountpath,
    s.status_code,
    s.age_ns,
    s.received_count,
    s.is_streaming,
    s.source_loc,
    substr(s.text, s.message_start + 1) as message,
    s.text,
    s.capture
from single as s
left join pattern as p on p.pattern = s.pattern and p.format = 'ais'
