-- An error of an AIStore node that names the very request, object or peer that the error of a rank
-- names.
-- grain: one row a failure, rank and node
-- reads: failure_case, job_cluster, rank_crash, worker_tail, worker_file, rank_identity,
-- reads: rank_request, node_error, node_fault, threshold
-- case: yes
-- note: A part of a checkpoint bears the number of its rank: its error ties a rank whose own error
-- note: names nothing. An answer that stands word for word in the rank's error is that of the
-- note: target which printed it, unless the two name different paths.
create or replace view named_error as
with asked as (
    select failure_id, cluster, rank, outcome, node_id, object, wid, xid, status_code,
        tier = 'data_io' as is_of_data, from_ns, to_ns, file_id, line_no, text
    from rank_request
    union all by name
    select f.failure_id, c.cluster, x.rank, 'error' as outcome, true as is_of_data,
        nullif(
            regexp_extract(x.text,
                '\bais[ '',]+wait[ '',]+(?:job[ '',]+)?([\w-]{6,})|\bjob[ \[]([\w-]{6,})\]', 1),
            '')
            as xid,
        x.utc_ns as from_ns, x.latest_ns as to_ns, x.file_id, x.line_no, x.text
    from rank_crash as x
    join failure_case as f on f.job_id = x.job_id and f.attempt = x.attempt
    join job_cluster as c on c.job_id = x.job_id and c.attempt = x.attempt
    where x.pattern in ('python_exception', 'file_missing')
    union all by name
    select f.failure_id, c.cluster, x.rank, 'error' as outcome, true as is_of_data,
        regexp_extract(w.text,
            '(?:\w://[\w.-]+/|/v1/objects/[\w.-]+/)((?:[\w.-]+/)*[\w.-]*\d[\w.-]*\.[A-Za-z][A-Za-z0'
                '-9]{1,11})\b',
            1)
            as object,
        x.utc_ns as from_ns, x.latest_ns as to_ns, w.file_id, w.line_no, w.text
    from rank_crash as x
    join failure_case as f on f.job_id = x.job_id and f.attempt = x.attempt
    join job_cluster as c on c.job_id = x.job_id and c.attempt = x.attempt
    join worker_tail as w on w.file_id = x.file_id and w.line_no < x.line_no
    join worker_file as o on o.file_id = w.file_id and o.path_attempt + w.attempt_no = x.attempt
    left join rank_identity as i on i.kind = 'file' and i.file_id = w.file_id
    where x.object is null and x.tier = 'data_io' and coalesce(w.rank, i.rank) = x.rank
        and length(regexp_extract(w.text, '\w://[\w.-]+/\S+|/v1/objects/\S+')) > 0
    qualify row_number() over (partition by f.failure_id, x.rank order by w.line_no desc) = 1
),
met as (
    select
        r.failure_id, r.rank, r.file_id as client_file_id, r.line_no as client_line_no, w.utc_ns,
        w.fault_kind, n.fault_id, w.file_id, w.line_no,
        coalesce(r.outcome = 'error' and w.part_rank = r.rank, false)
            and coalesce(r.object, r.wid, r.xid) is null as is_part,
        coalesce(r.object,
            case when r.outcome = 'error'
                and r.is_of_data
                    then coalesce(
                        nullif(
                            regexp_extract(r.text,
                                '[/''"]([\w.-]*\d[\w.-]*\.[A-Za-z][A-Za-z0-9]{1,11})\b', 1),
                            ''),
                        regexp_extract(r.text, '(?:^|[\s''"])((?:[\w.-]+/){2,}[\w.-]*\d[\w.-]*)',
                            1)) end)
            as thing,
        case when (length(thing) > 5 and contains(w.text, thing)) or contains(w.text, r.wid)
            or (length(r.xid) > 5 and contains(w.text, r.xid)) or w.fault_kind = 'job_not_begun'
            or (w.fault_kind = 'job_aborted'
                and contains(w.text,
                    nullif(regexp_extract(r.text, '\betl(?:_name=| job )([\w.-]{4,})', 1), '')))
            or (length(w.words) >= 25 and contains(replace(r.text, '\"', '"'), w.words)
                and (contains(r.text, w.path) or not contains(r.text, '/v1/')))
                then w.node_id
            when r.outcome <> 'missing' and w.peer_id = r.node_id then w.peer_id end
            as said_node_id,
        coalesce(said_node_id, case when is_part then w.node_id end) as node_id
    from asked as r
    join failure_case as f on f.failure_id = r.failure_id
    join threshold as p on p.name = 'stall_reach_s'
    join threshold as b on b.name = 'felt_before_s'
    join threshold as a on a.name = 'felt_after_s'
    join node_error as w on w.cluster = r.cluster
        and (w.utc_ns between r.from_ns - a.value::bigint * 1000000000 and r.to_ns
            + b.value::bigint * 1000000000
            or (length(r.xid) > 5 and contains(w.text, r.xid)
                and w.utc_ns between r.from_ns - p.value::bigint * 1000000000 and r.to_ns
                    + p.value::bigint * 1000000000))
    left join node_fault as n on n.cluster = w.cluster and n.node_id = w.node_id
        and n.fault_kind = w.fault_kind and w.utc_ns between n.started_ns and n.ended_ns
    where (r.outcome in ('error', 'retry', 'short', 'missing', 'chained')
        or (r.outcome = 'pending' and r.xid is not null))
        and r.to_ns >= f.stall_ns - p.value::bigint * 1000000000
        and case w.fault_kind
            when 'job_not_begun'
                then contains(replace(r.text, '\"', '"'), coalesce(nullif(w.words, ''), w.text))
            else not coalesce(r.status_code between 400 and 499
                and r.status_code not in (404, 408, 409, 410, 423, 429), false) end
)
select
    failure_id, rank, node_id,
    case when bool_and(said_node_id is null) then 'rank_object' else 'error_line' end as link_kind,
    arg_min(fault_kind, (utc_ns, file_id, line_no)) as fault_kind,
    arg_min(fault_id, (utc_ns, file_id, line_no)) as fault_id,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_min(client_file_id, (utc_ns, file_id, line_no, client_file_id, client_line_no))
        as client_file_id,
    arg_min(client_line_no, (utc_ns, file_id, line_no, client_file_id, client_line_no))
        as client_line_no
from met
where node_id is not null
group by failure_id, rank, node_id
