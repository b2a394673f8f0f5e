-- What a culprit had asked storage for when it failed or fell silent: the object, whom it asked,
-- and how often.
-- grain: one row a failure, rank and object (or address, where a line names no object)
-- reads: failure, rank_state, rank_request, ingested_file, threshold
-- public: yes
-- case: kept
-- note: Requests that failed, were tried again, came back short or were still open; the last of
-- note: them stands first (place 1), one that failed before one that was open, and the address that
-- note: the rank itself asked before that at which AIStore asked its own node for it
-- note: (is_inner_address: no xaction is known to it yet, as in no redirected one). Where nobody is
-- note: the culprit, as all failed alike, each that crashed counts. What was tried again long
-- note: before an error of another kind went through. An address in full behind the pool's is what
-- note: a web proxy was asked for. first_at is null where a try has no time of its own.
create or replace view culprit_request as
with failed as (
    select failure_id, unnest(culprit_ranks) as rank
    from failure
    union all
    select f.failure_id, s.rank
    from failure as f
    join rank_state as s on s.failure_id = f.failure_id and s.role = 'crashed'
    where len(f.culprit_ranks) = 0
),
met as (
    select
        f.failure_id, r.rank, r.bucket, r.object,
        nullif(regexp_replace(r.url, '[?#].*$', ''), '') as url, r.node_id, r.outcome,
        coalesce(nullif(regexp_extract(r.text, ' with url: https?://([\w.-]+:\d+)/', 1), ''),
            r.endpoint) as endpoint,
        r.from_ns, r.to_ns, r.file_id, r.line_no,
        r.outcome = 'retry' and r.stamp_source not in ('own', 'wrapper') as is_undated
    from failed as f
    join rank_request as r on r.failure_id = f.failure_id and r.rank = f.rank
    left join failure as p on p.failure_id = f.failure_id
        and p.failure_class in ('software', 'gpu', 'infrastructure')
    join threshold as g on g.name = 'fault_slack_s'
    where r.outcome not in ('note', 'recovered') and coalesce(r.object, r.url) is not null
        and not coalesce(r.outcome = 'retry' and epoch_ns(p.first_error_at)
            > r.to_ns + (coalesce(r.wait_s, 0) + g.value) * 1e9, false)
),
one as (
    select
        failure_id, rank, any_value(bucket) as bucket, any_value(object) as object,
        any_value(url) filter (where object is null) as url,
        arg_max(endpoint, from_ns) as endpoint, arg_max(node_id, from_ns) as node_id,
        coalesce(arg_max(outcome, (from_ns, line_no))
            filter (where outcome in ('error', 'missing', 'short')),
            arg_max(outcome, (from_ns, line_no)))
            as outcome,
        count(*) filter (where outcome = 'retry') as retry_count,
        mode(endpoint order by endpoint) filter (where outcome = 'retry') as retry_endpoint,
        if(bool_or(is_undated), null, min(from_ns)) as first_ns, max(to_ns) as last_ns,
        arg_max(file_id, (outcome <> 'pending', from_ns, line_no)) as file_id,
        arg_max(line_no, (outcome <> 'pending', from_ns, line_no)) as line_no
    from met
    group by failure_id, rank, coalesce(object, url)
),
told as (
    select
        *,
        outcome in ('error', 'missing', 'short') as is_failed,
        coalesce(regexp_matches(url, '/v1/ml/moss/([^/]+/)?noxid/'), false) as is_inner_address,
        bool_or(is_failed and is_inner_address)
            over (partition by failure_id, rank) as is_inner_failed
    from one
)
select
    o.failure_id,
    row_number()
        over (partition by o.failure_id order by o.is_failed
            or (o.is_inner_failed and o.outcome = 'chained') desc, o.is_inner_address,
            o.last_ns desc, o.rank, o.object)
            as place,
    o.rank,
    o.bucket,
    o.object,
    o.url,
    o.endpoint,
    o.node_id,
    o.outcome,
    o.retry_count,
    o.retry_endpoint,
    make_timestamp_ns(o.first_ns) as first_at,
    make_timestamp_ns(o.last_ns) as last_at,
    p.path,
    o.line_no,
    o.file_id,
    o.is_inner_address
from told as o
left join ingested_file as p on p.file_id = o.file_id
