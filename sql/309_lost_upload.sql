-- A line in which a target does not know an upload in parts that had been begun, with the node that lost it.
-- grain: one row a line
-- reads: ais_event, node_fault, node, threshold
-- stored: yes
-- note: What is known of an upload is kept by the target that began it, in memory. Where that one went while the upload may have been open (upload_life_s), the next parts go to another one, which never knew of it: then the only target that went is meant, not the one that answers.
create or replace view lost_upload as
with said as (
    select cluster, node_id, utc_ns, file_id, line_no, text
    from ais_event
    where pattern = 'ais_http_error' and severity = 'E' and node_id is not null and regexp_matches(text, '(?i)\bupload \S+ not found')
),
went as (
    select
        s.file_id, s.line_no,
        bool_or(f.node_id = s.node_id) as is_own,
        count(distinct f.node_id) as node_count,
        min(f.node_id) as node_id
    from said as s
    join threshold as t on t.name = 'upload_life_s'
    join node_fault as f on f.cluster = s.cluster and f.started_ns between s.utc_ns - t.value * 1e9 and s.utc_ns
        and f.fault_kind in ('killed', 'crashed', 'hung', 'down', 'stopped', 'maintenance')
    join node as n on n.cluster = f.cluster and n.node_id = f.node_id and n.role = 'target'
    group by s.file_id, s.line_no
)
select
    s.cluster,
    case when w.is_own or w.node_count > 1 then s.node_id else w.node_id end as node_id,
    s.utc_ns,
    s.file_id,
    s.line_no,
    s.text
from said as s
join went as w on w.file_id = s.file_id and w.line_no = s.line_no
