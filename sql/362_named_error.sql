-- An error of an AIStore node that names the very request, object or peer that the error of a rank names.
-- grain: one row a failure, rank and node
-- reads: failure_case, rank_request, ais_event, node, node_fault, node_witness, threshold
-- stored: yes
-- empty without: failure_case
-- empty without: node_witness where effect in ('unknown_error', 'io_error', 'corrupt', 'files_exhausted', 'backend_failed', 'restore_failed'); ais_event where pattern in ('ais_http_error', 'ais_bad_checksum_on_write', 'ais_dsort_aborted', 'ais_xaction_finished_with_error', 'ais_download_failed', 'ais_http_out_of_space') or contains(text, '/v1/txn/')
-- note: A part of a checkpoint bears the number of its rank (`__3_0.distcp`, `zero_pp_rank_3_…`, `rank-00003.pt`): its error ties a rank whose own error names nothing. An answer that stands word for word in the rank's error is that of the target which printed it. A target that cannot fetch what a job downloads is meant where most others can, and so is one that cannot begin (`/v1/txn/…/begin/`) what all targets are to do together: a promotion, a copy, a transformation; its words stand in the rank's error. A job of AIStore that the rank's last words or its error name counts as its request; of those who broke it off the first is meant. An upload in parts that its target does not know any more is the cluster's doing where a node went or came back while it may have been open (upload_life_s). Whatever the line says, node and client speak of one thing: the node up to felt_after_s before the client, or felt_before_s after it. What arrives damaged is the sender's fault, unless senders of several buckets meet it at one node and at no other. A peer that it complains of is accused where the rank's error names that peer too, unless for an object that is missing. A request that was answered with an error counts as such a line. Lines about the client's side (gone, not permitted, a wrong request) are none, and neither is an answer that puts the mistake on the request (a 4xx status but 404, 408, 409, 410, 423 and 429).
create or replace view named_error as
with damaging as (
    select cluster, any_value(node_id) as node_id
    from ais_event
    where pattern = 'ais_bad_checksum_on_write' and node_id is not null
    group by cluster
    having count(distinct node_id) = 1 and count(distinct bucket) > 1
),
said as (
    select w.cluster, w.node_id, e.peer_node_id as peer_id, case w.effect when 'io_error' then 'disk_errors' when 'backend_failed' then 'backend' when 'unknown_error' then 'unexplained' else w.effect end as fault_kind, w.utc_ns, w.file_id, w.line_no, w.text
    from node_witness as w
    left join ais_event as e on e.file_id = w.file_id and e.line_no = w.line_no
    where (w.effect = 'unknown_error' and w.pattern = 'other_error') or w.effect in ('io_error', 'corrupt', 'files_exhausted', 'backend_failed', 'restore_failed')
    union all
    select e.cluster, e.node_id, null as peer_id, case when e.pattern = 'ais_http_out_of_space' then 'out_of_space' when is_upload then 'upload_lost' else 'unexplained' end as fault_kind, e.utc_ns, e.file_id, e.line_no, e.text
    from ais_event as e join threshold as t on t.name = 'upload_life_s' cross join lateral (select regexp_matches(e.text, '(?i)\bupload \S+ not found') as is_upload)
    where e.pattern in ('ais_http_error', 'ais_http_out_of_space') and e.severity = 'E' and e.node_id is not null and case when is_upload then exists (from node_fault as n where n.cluster = e.cluster and n.fault_kind in ('killed', 'crashed', 'hung', 'down', 'stopped', 'restarted', 'maintenance') and n.started_ns between e.utc_ns - t.value * 1e9 and e.utc_ns)
        else regexp_extract(e.text, '\(called by [pt]\[([^\]]+)\]\)', 1) <> e.node_id and not regexp_matches(e.text, '(?i)token|permi(t|ssion)|authori[sz]|access denied|does not exist|not found|broken pipe|reset by peer|client gone|context canceled|bad request|invalid|range|unsupported|malformed|not allowed|required|conflict') end
    union all
    select e.cluster, e.node_id, null as peer_id, 'corrupt' as fault_kind, e.utc_ns, e.file_id, e.line_no, e.text
    from ais_event as e
    join damaging as d on d.cluster = e.cluster and d.node_id = e.node_id
    where e.pattern = 'ais_bad_checksum_on_write'
    union all
    select cluster, node_id, null as peer_id, 'job_aborted' as fault_kind, utc_ns, file_id, line_no, text
    from ais_event
    where pattern in ('ais_dsort_aborted', 'ais_xaction_finished_with_error') and node_id is not null and not regexp_matches(text, '(?i)by user|user.abort|\bstopp?(ed)?\b')
    qualify row_number() over (partition by cluster, coalesce(xid, regexp_extract(text, 'x-[\w-]+\[([\w-]+)\]', 1)) order by utc_ns, file_id, line_no) = 1
    union all
    select e.cluster, e.node_id, null as peer_id, 'download_failed' as fault_kind, e.utc_ns, e.file_id, e.line_no, e.text
    from ais_event as e
    where e.pattern = 'ais_download_failed' and e.node_id is not null
    qualify row_number() over (partition by e.cluster, e.xid, e.node_id order by e.utc_ns desc, e.file_id, e.line_no) = 1
        and count(distinct e.node_id) over (partition by e.cluster, e.xid) * 2 <= (select count(*) from node as n where n.cluster = e.cluster and n.role = 'target')
    union all
    select e.cluster, e.node_id, null as peer_id, 'job_not_begun' as fault_kind, e.utc_ns, e.file_id, e.line_no, e.text
    from ais_event as e
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'target'
    where e.severity = 'E' and contains(e.text, ': POST /v1/txn/') and contains(e.text, '/begin/')
    qualify count(distinct e.node_id) over (partition by e.cluster, regexp_extract(e.text, 'POST (/v1/txn/\S+)', 1)) * 2 <= (select count(*) from node as m where m.cluster = e.cluster and m.role = 'target' and m.has_log)
),
worded as (
    select *, regexp_extract(text, '^\w \S+ (?:Err\w+: )?(.{12,}?): (?:GET|PUT|POST|HEAD|PATCH|DELETE) /', 1) as words,
        try_cast(regexp_extract(text, '/__(\d+)_\d+\.distcp\s', 1) || regexp_extract(text, '/zero_pp_rank_(\d+)_mp_rank_00_\w+\.pt\s', 1) || regexp_extract(text, '/(?:[^/\s]*[_.-])?rank[_-]?(\d+)\.\w+\s', 1) as integer) as part_rank
    from said
),
met as (
    select
        r.failure_id, r.rank, r.file_id as client_file_id, r.line_no as client_line_no, w.utc_ns, w.fault_kind, n.fault_id, w.file_id, w.line_no,
        coalesce(r.outcome = 'error' and w.part_rank = r.rank, false) and coalesce(r.object, r.wid, r.xid) is null as is_part,
        coalesce(r.object, case when r.outcome = 'error' and r.tier = 'data_io' then regexp_extract(r.text, '[/''"]([\w.-]*\d[\w.-]*\.[A-Za-z][A-Za-z0-9]{1,11})\b', 1) end) as thing,
        case when (length(thing) > 5 and contains(w.text, thing)) or contains(w.text, r.wid) or (length(r.xid) > 5 and contains(w.text, r.xid)) or w.fault_kind = 'job_not_begun' or (length(w.words) >= 25 and contains(replace(r.text, '\"', '"'), w.words)) then w.node_id when r.outcome <> 'missing' and w.peer_id = r.node_id then w.peer_id end as said_node_id,
        coalesce(said_node_id, case when is_part then w.node_id end) as node_id
    from rank_request as r
    join failure_case as f on f.failure_id = r.failure_id
    join threshold as p on p.name = 'stall_reach_s'
    join threshold as b on b.name = 'felt_before_s'
    join threshold as a on a.name = 'felt_after_s'
    join worded as w on w.cluster = r.cluster and w.utc_ns between r.from_ns - a.value::bigint * 1000000000 and r.to_ns + b.value::bigint * 1000000000
    left join node_fault as n on n.cluster = w.cluster and n.node_id = w.node_id and n.fault_kind = w.fault_kind and w.utc_ns between n.started_ns and n.ended_ns
    where (r.outcome in ('error', 'retry', 'short', 'missing', 'chained') or (r.outcome = 'pending' and r.xid is not null)) and r.to_ns >= f.stall_ns - p.value::bigint * 1000000000
        and case w.fault_kind when 'job_not_begun' then contains(replace(r.text, '\"', '"'), coalesce(nullif(w.words, ''), w.text)) else not coalesce(r.status_code between 400 and 499 and r.status_code not in (404, 408, 409, 410, 423, 429), false) end
)
select
    failure_id, rank, node_id,
    case when bool_and(said_node_id is null) then 'rank_object' else 'error_line' end as link_kind,
    arg_min(fault_kind, (utc_ns, file_id, line_no)) as fault_kind,
    arg_min(fault_id, (utc_ns, file_id, line_no)) as fault_id,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id, arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_min(client_file_id, (utc_ns, file_id, line_no, client_file_id, client_line_no)) as client_file_id, arg_min(client_line_no, (utc_ns, file_id, line_no, client_file_id, client_line_no)) as client_line_no
from met
where node_id is not null
group by failure_id, rank, node_id
