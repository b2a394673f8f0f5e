-- What AIStore itself says it could not do for a request, a job or an object, in a line that may be
-- tied to a rank by a name.
-- grain: one row a line, or the first or last of a job's
-- reads: node_witness, ais_event, node, node_fault, threshold
-- stored: yes
-- note: A request that was answered with an error counts, but no line about the client's side
-- note: (gone, not permitted, a wrong request). What arrives damaged is the sender's fault, unless
-- note: senders of several buckets meet it at one node and at no other.
create or replace view node_error as
with damaging as (
    select cluster, any_value(node_id) as node_id
    from ais_event
    where pattern = 'ais_bad_checksum_on_write' and node_id is not null
    group by cluster
    having count(distinct node_id) = 1 and count(distinct bucket) > 1
),
absent as (
    select cluster, node_id, utc_ns, file_id, line_no, text,
        regexp_extract(text, '\w://[^\s"/]+/\S+ does not exist: GET /') as thing
    from ais_event
    where severity = 'E' and thing <> ''
),
said as (
    select w.cluster, w.node_id, e.peer_node_id as peer_id,
        case w.effect when 'io_error' then 'disk_errors' when 'backend_failed' then 'backend'
            when 'unknown_error' then 'unexplained' else w.effect end
            as fault_kind,
        w.utc_ns, w.file_id, w.line_no, w.text
    from node_witness as w
    left join ais_event as e on e.file_id = w.file_id and e.line_no = w.line_no
    where (w.effect = 'unknown_error' and w.pattern = 'other_error')
        or w.effect
            in ('io_error', 'corrupt', 'files_exhausted', 'backend_failed', 'restore_failed')
    union all
    select e.cluster, e.node_id, null as peer_id,
        case when e.pattern in ('ais_http_out_of_space', 'ais_no_space_left') then 'out_of_space'
            else 'unexplained' end
            as fault_kind,
        e.utc_ns, e.file_id, e.line_no, e.text
    from ais_event as e
    where e.pattern in ('ais_http_error', 'ais_http_out_of_space', 'ais_no_space_left')
        and e.severity = 'E' and e.node_id is not null
        and regexp_extract(e.text, '\(called by [pt]\[([^\]]+)\]\)', 1) <> e.node_id
            and not regexp_matches(e.text,
                '(?i)token|permi(t|ssion)|authori[sz]|access denied|does not exist|not found'
                    '|broken pipe|reset by peer|client gone|context canceled|bad request|invalid'
                    '|range|unsupported|malformed|not allowed|required|conflict'
                    '|is currently running')
    union all
    select e.cluster, e.node_id, null as peer_id, 'corrupt' as fault_kind, e.utc_ns, e.file_id,
        e.line_no, e.text
    from ais_event as e
    join damaging as d on d.cluster = e.cluster and d.node_id = e.node_id
    where e.pattern = 'ais_bad_checksum_on_write'
    union all
    select cluster, node_id, null as peer_id, 'job_aborted' as fault_kind, utc_ns, file_id, line_no,
        text
    from ais_event
    where pattern in ('ais_dsort_aborted', 'ais_xaction_finished_with_error')
        and node_id is not null
        and (contains(text, 'x-etl-')
            or not regexp_matches(text, '(?i)by user|user.abort|\bstopp?(ed)?\b'))
    qualify row_number()
        over (partition by cluster, coalesce(xid, regexp_extract(text, 'x-[\w-]+\[([\w-]+)\]', 1))
            order by utc_ns, file_id, line_no)
            = 1
    union all
    select e.cluster, e.node_id, null as peer_id, 'download_failed' as fault_kind, e.utc_ns,
        e.file_id, e.line_no, e.text
    from ais_event as e
    where e.pattern = 'ais_download_failed' and e.node_id is not null
    qualify row_number()
        over (partition by e.cluster, e.xid, e.node_id order by e.utc_ns desc, e.file_id, e.line_no)
            = 1
        and count(distinct e.node_id)
            over (partition by e.cluster, e.xid) * 2
                <= (select count(*) from node as n
                    where n.cluster = e.cluster and n.role = 'target')
    union all
    select e.cluster, e.node_id, null as peer_id, 'job_not_begun' as fault_kind, e.utc_ns,
        e.file_id, e.line_no, e.text
    from ais_event as e
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'target'
    where e.severity = 'E' and contains(e.text, ': POST /v1/txn/') and contains(e.text, '/begin/')
    qualify count(distinct e.node_id)
        over (partition by e.cluster, regexp_extract(e.text, 'POST (/v1/txn/\S+)', 1)) * 2
            <= (select count(*) from node as m
                where m.cluster = e.cluster and m.role = 'target' and m.has_log)
    union all
    select e.cluster, n.node_id, null as peer_id, n.fault_kind, e.utc_ns, e.file_id, e.line_no,
        e.text
    from absent as e
    join threshold as p on p.name = 'named_fault_s'
    join node_fault as n on n.cluster = e.cluster
        and case when n.node_id = e.node_id then n.fault_kind = 'disk_fault'
            and e.utc_ns between n.started_ns and n.started_ns + p.value * 1e9
            else n.fault_kind
                in ('killed', 'crashed', 'hung', 'down', 'stopped', 'maintenance', 'cut')
            and e.utc_ns between n.started_ns and n.ended_ns end
    join node as t on t.cluster = n.cluster and t.node_id = n.node_id and t.role = 'target'
    where (n.fault_kind = 'disk_fault'
        or not exists (from absent as o
            where o.cluster = e.cluster and o.thing = e.thing
                and o.utc_ns not between n.started_ns and n.ended_ns))
    qualify count(distinct n.node_id) over (partition by e.file_id, e.line_no) = 1
        and (n.fault_kind = 'disk_fault'
            or (select count(distinct o.thing) from absent as o
                where o.cluster = e.cluster
                    and regexp_extract(o.thing, '://([^/]+)', 1)
                        = regexp_extract(e.thing, '://([^/]+)', 1)
                    and (o.utc_ns between n.started_ns - 600e9 and n.started_ns
                        or (n.fault_kind in ('hung', 'down', 'cut')
                            and o.utc_ns between n.ended_ns + 5e9 and n.ended_ns + 600e9)))
                < 2)
)
select cluster, node_id, peer_id, fault_kind, utc_ns, file_id, line_no, text,
    regexp_extract(text, '^\w \S+ (?:Err\w+: )?(.{12,}?): (?:GET|PUT|POST|HEAD|PATCH|DELETE) /', 1)
        as words,
    regexp_extract(text, ': (?:GET|PUT|POST|HEAD|PATCH|DELETE) (/[^\s?]+)', 1) as path,
    try_cast(regexp_extract(text, '/__(\d+)_\d+\.distcp\s', 1)
        || regexp_extract(text, '/zero_pp_rank_(\d+)_mp_rank_00_\w+\.pt\s', 1)
        || regexp_extract(text, '/(?:[^/\s]*[_.-])?rank[_-]?(\d+)\.\w+\s', 1) as integer)
        as part_rank
from said
