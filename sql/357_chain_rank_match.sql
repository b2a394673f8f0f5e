-- A chain or a node's fault that reaches a rank, by request, xaction, address, object, count or
-- time.
-- grain: one row a failure, rank, chain or fault, and kind of match (the strongest line of each)
-- reads: rank_request, rank_crash, failure_case, job, get_batch_chain, get_batch_chain_step,
-- reads: xaction_bucket, link_term, batch_item
-- public: yes
-- case: kept
-- note: What a rank got over (recovered) reaches it no more. lag_s is the client's moment minus the
-- note: server's. A short batch of as many entries as the server says it had assembled is matched
-- note: by count, unless the error names another bucket than that of the xaction; what else broke
-- note: at that time is not its batch then. Nor is a batch of a bucket that is not the job's, which
-- note: broke without a known fault, at the node that the rank asked or at that time.
create or replace view chain_rank_match as
with request as (
    select * replace (
        coalesce(received_count, try_cast(regexp_extract(text, c.words, 1) as integer))
            as received_count,
        coalesce(expected_count, try_cast(regexp_extract(text, c.words, 2) as integer))
            as expected_count)
    from rank_request
    cross join (
        select '\b(\d+) of (\d+) (?:objects|entries|items|members|samples|files|records|cuts)\b'
        as words)
        as c
    where outcome in ('error', 'short', 'retry', 'missing', 'chained', 'pending')
        and cluster is not null
        and not (outcome in ('retry', 'short') and coalesce(is_got_over, false))
),
by_wid as (
    select r.failure_id, c.chain_id, r.rank, 'wid' as match_kind, 'wid' as term,
        (r.from_ns - s.utc_ns) / 1e9 as lag_s, r.file_id, r.line_no, s.file_id as ais_file_id,
        s.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    join get_batch_chain_step as s on s.wid = r.wid and s.cluster = r.cluster
    join get_batch_chain as c on c.chain_id = s.chain_id
),
by_count as (
    select r.failure_id, s.chain_id, r.rank, 'time' as match_kind, true as is_counted,
        'count' as term,
        (r.from_ns - s.utc_ns) / 1e9 as lag_s, r.file_id, r.line_no, s.file_id as ais_file_id,
        s.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    join get_batch_chain_step as s on s.cluster = r.cluster
        and s.step in ('short_batch', 'aborted', 'client_gone') and s.wid is not null
        and coalesce(s.received_count, 0) = r.received_count
        and s.utc_ns >= r.from_ns - 3000000000 and s.utc_ns <= r.to_ns + 3000000000
    left join xaction_bucket as b on b.cluster = s.cluster
        and b.xid = regexp_extract(s.text, 'get-batch\[([\w-]+)\]', 1)
    where (b.bucket is null or not regexp_matches(r.text, '\b\w+://') or contains(r.text, b.bucket))
        and r.received_count is not null and r.expected_count is not null
            and r.received_count < r.expected_count
),
by_node as (
    select r.failure_id, c.chain_id, r.rank, 'endpoint' as match_kind,
        case when r.node_id = c.suspect_node_id then 'suspect_address'
            else 'designated_address' end as term,
        (r.from_ns - c.started_ns) / 1e9 as lag_s, r.file_id, r.line_no, c.file_id as ais_file_id,
        c.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    join get_batch_chain as c on c.cluster = r.cluster
        and (r.node_id = c.suspect_node_id
            or (r.node_id = c.designated_node_id
                and not contains(coalesce(r.url, r.text, ''), '/v1/objects/')))
        and c.started_ns <= r.to_ns + 5000000000 and c.ended_ns >= r.from_ns - 30000000000
    left join failure_case as f on f.failure_id = r.failure_id
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    left join xaction_bucket as b on b.cluster = c.cluster and b.xid = c.xid
    where c.fault_id is not null or coalesce(contains(j.data_source, b.bucket), true)
),
by_batch as (
    select distinct r.failure_id, s.chain_id, r.rank, 'endpoint' as match_kind,
        'designated_address' as term, (r.from_ns - i.began_ns) / 1e9 as lag_s, r.file_id, r.line_no,
        i.file_id as ais_file_id, i.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    join batch_item as i on i.cluster = r.cluster and i.node_id = r.node_id
        and i.began_ns between r.from_ns - 5000000000 and r.to_ns + 5000000000
    join get_batch_chain_step as s on s.cluster = i.cluster and s.wid = i.wid
    left join failure_case as f on f.failure_id = r.failure_id
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    where r.outcome <> 'chained' and not contains(coalesce(r.url, r.text, ''), '/v1/objects/')
        and coalesce(contains(j.data_source, i.bucket), true)
),
by_xid as (
    select r.failure_id, c.chain_id, r.rank, 'xid' as match_kind, 'xid' as term,
        (r.from_ns - c.started_ns) / 1e9 as lag_s, r.file_id, r.line_no, c.file_id as ais_file_id,
        c.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    join get_batch_chain as c on c.cluster = r.cluster and c.xid = r.xid
        and c.started_ns <= r.to_ns + 5000000000 and c.ended_ns >= r.from_ns - 30000000000
),
by_object as (
    select r.failure_id, s.chain_id, r.rank, 'object' as match_kind, 'object' as term,
        (r.from_ns - s.utc_ns) / 1e9 as lag_s, r.file_id, r.line_no, s.file_id as ais_file_id,
        s.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    join get_batch_chain_step as s on s.cluster = r.cluster and length(r.object) > 5
        and contains(s.text, r.object) and abs(s.utc_ns - r.from_ns) < 120000000000
),
by_time as (
    select r.failure_id, c.chain_id, r.rank, 'time' as match_kind,
        if(c.is_ambient, 'any_moment', 'moment') as term,
        (r.from_ns - c.started_ns) / 1e9 as lag_s, r.file_id, r.line_no, c.file_id as ais_file_id,
        c.line_no as ais_line_no, r.from_ns, r.outcome
    from request as r
    left join rank_crash as x on x.file_id = r.file_id and x.line_no = r.line_no
        and r.stamp_source not in ('own', 'wrapper')
    left join failure_case as f on f.failure_id = r.failure_id
    join get_batch_chain as c on c.cluster = r.cluster and c.started_ns <= r.to_ns + 2000000000
        and c.ended_ns
            >= greatest(r.from_ns,
                case when x.rank is not null and f.progress_ns < r.to_ns then f.progress_ns end)
            - 5000000000
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    left join xaction_bucket as b on b.cluster = c.cluster and b.xid = c.xid
    where (c.fault_id is not null or coalesce(contains(j.data_source, b.bucket), true))
        and (r.failure_class in ('storage_io', 'data_loading_stall', 'network')
        or r.outcome in ('short', 'retry'))
        and not exists (from by_count as n
            where n.failure_id = r.failure_id and n.file_id = r.file_id and n.line_no = r.line_no)
),
every as (
    select * from by_wid union all by name select * from by_count union all by name select *
        from by_node
    union all by name select * from by_batch union all by name select * from by_xid
        union all by name select * from by_object
        union all by name select * from by_time
)
select e.failure_id, e.chain_id, e.rank, e.match_kind, round(e.lag_s::double, 3) as lag_s,
    k.factor::double as score, e.file_id, e.line_no, e.ais_file_id, e.ais_line_no,
    coalesce(e.is_counted, false) as is_counted, e.term
from every as e
join link_term as k on k.term = e.term
qualify row_number()
    over (partition by failure_id, chain_id, rank, match_kind order by score desc,
        outcome in ('retry', 'chained'), abs(lag_s), file_id, line_no, ais_file_id, ais_line_no)
        = 1
