-- What happened on a culprit rank: its own first error, and what it was doing.
-- grain: one row a culprit of a failure; where none is the culprit and most ranks failed alike, or
-- grain: an error's lines name no rank, one row without a rank
-- reads: failure_case, culprit, failed_rank, rank_crash, failure_signal, rank_activity,
-- reads: rank_request, pattern_content, threshold
-- case: yes
-- note: Up to PyTorch 2.2 a traceback names no rank: where no crash does, the first error of
-- note: storage, data, network, device or host is its rank's, also one that an exception of no
-- note: known kind came out of; one of the program needs none to be told. Of ranks that wait in a
-- note: collective none died there before: where one alone had not entered it, the error is its
-- note: own. activity is that of the surest witness: stack, traceback, last words; what fewer than
-- note: half of several silent ranks did stopped none of them.
create or replace view culprit_cause as
with doing as (
    select job_id, attempt, rank, activity, witness, confidence, file_id, line_no, text,
        coalesce(is_own_code, false) as is_own_code
    from rank_activity
    qualify row_number()
        over (partition by job_id, attempt, rank
            order by case when activity = 'unknown' then if(is_own_code, 1, 3)
                when activity = 'step' then 2 else 0 end,
            confidence desc, witness, file_id, line_no)
            = 1
),
alike as (
    select c.job_id, c.attempt, arg_min(c.rank, (-c.pattern_count, c.utc_ns, c.rank)) as rank
    from (select *, count(*) over (partition by job_id, attempt, signal, pattern) as pattern_count
        from rank_crash)
        as c
    where c.signal = 'crash'
        and c.failure_class in ('storage_io', 'data_loading_stall', 'network', 'data')
        and not exists (select 1 from culprit as u
            where u.job_id = c.job_id and u.attempt = c.attempt)
    group by c.job_id, c.attempt, c.failure_class
    having count(*) * 2
        > (select count(*) from failed_rank as r
            where r.job_id = c.job_id and r.attempt = c.attempt)
),
unranked as (
    select s.*
    from failure_signal as s
    where s.rank is null and coalesce(s.exception, '') <> 'ChildFailedError'
        and (s.signal = 'crash' or (s.signal = 'chained'
            and s.failure_class in ('storage_io', 'data_loading_stall', 'network', 'gpu')
            and exists (from failure_signal as g
                where g.signal = 'crash' and g.pattern = 'python_exception' and g.rank is null
                    and g.file_id = s.file_id and g.block_line_no = s.block_line_no)))
        and not exists (from rank_crash as c where c.job_id = s.job_id and c.attempt = s.attempt)
),
unplaced as (
    select s.*
    from unranked as s
    where s.failure_class
            in ('storage_io', 'data_loading_stall', 'network', 'data', 'gpu', 'infrastructure')
        and (s.exception is not null or s.tier <> 'launcher')
    qualify row_number() over (
        partition by s.job_id, s.attempt order by s.utc_ns, s.latest_ns, s.file_id, s.line_no) = 1
),
placed as (
    select s.* replace (u.rank as rank)
    from unranked as s
    join failure_case as f on f.job_id = s.job_id and f.attempt = s.attempt
        and s.utc_ns <= f.spoke_ns and s.latest_ns >= f.hang_start_ns - 60000000000
    join (select job_id, attempt, min(rank) as rank from culprit
        group by job_id, attempt having count(*) = 1 and min(basis) = 'silent')
        as u
        on u.job_id = s.job_id and u.attempt = s.attempt
    left join failed_rank as r on r.job_id = s.job_id and r.attempt = s.attempt and r.rank = u.rank
    where s.tier <> 'launcher'
        and (s.file_id = coalesce(r.file_id, (select min(o.file_id) from failed_rank as o
                where o.job_id = s.job_id and o.attempt = s.attempt
                having count(distinct o.file_id) = 1))
            or not exists (from failed_rank as o where o.job_id = s.job_id
                and o.attempt = s.attempt and o.file_id = s.file_id))
    qualify row_number() over (
        partition by s.job_id, s.attempt order by s.utc_ns, s.latest_ns, s.file_id, s.line_no) = 1
),
who as (
    select job_id, attempt, rank, rank as witness_rank, basis, certainty, file_id, line_no, text
        from culprit
    union all
    select a.job_id, a.attempt, null, a.rank, 'alike', 0.6, c.file_id, c.line_no, c.text
    from alike as a
    join rank_crash as c on c.job_id = a.job_id and c.attempt = a.attempt and c.rank = a.rank
    union all
    select p.job_id, p.attempt, null, null, 'unplaced', 0.5, p.file_id, p.line_no, p.text
    from unplaced as p
    where not exists (select 1 from culprit as u
        where u.job_id = p.job_id and u.attempt = p.attempt)
),
crash as (
    from rank_crash where pattern <> 'torchrun_failure_entry'
    union all by name
    from unplaced
    union all by name
    from placed
),
met as (
    select
        r.failure_id, r.rank, r.outcome, r.node_id, r.pattern, r.file_id, r.line_no, r.text,
        r.from_ns,
        max(r.retry_no) over (partition by r.failure_id, r.rank) as top_retry,
        max(r.retry_limit) over (partition by r.failure_id, r.rank) as retry_limit
    from rank_request as r
    join failure_case as f on f.failure_id = r.failure_id
    where r.outcome in ('error', 'short', 'retry', 'missing', 'pending')
        and not (r.outcome = 'retry' and coalesce(r.is_got_over, false))
        and (r.pattern = 'fetch_broken'
            or r.to_ns >= f.stall_ns
                - (select value::bigint * 1000000000 from threshold where name = 'stall_reach_s'))
    qualify row_number()
        over (partition by r.failure_id, r.rank order by (r.pattern = 'fetch_broken') desc,
            (r.outcome = 'pending'), (r.outcome = 'retry'), abs(r.from_ns - f.stall_ns), r.file_id,
            r.line_no)
            = 1
)
select
    f.failure_id, f.job_id, f.attempt, c.rank, c.witness_rank, c.basis, c.certainty,
    c.file_id as basis_file_id, c.line_no as basis_line_no, c.text as basis_text,
    r.signal as crash_signal, coalesce(r.pattern, b.pattern) as crash_pattern, r.tier as crash_tier,
    p.content as crash_content,
    case when m.pattern in ('mountpoint_s3_failed', 'fetch_broken') then 'storage_io'
        else r.failure_class end
        as crash_class,
    r.exception, r.frame_kind, r.exit_code,
    r.status_code, r.object, r.bucket, r.wid, r.node_id as crash_node_id, r.endpoint,
    r.received_count, r.expected_count, r.user_location,
    r.utc_ns as crash_ns, r.latest_ns as crash_latest_ns,
    coalesce(r.file_id, b.file_id) as crash_file_id,
    case when r.file_id is null then b.line_no else r.line_no end as crash_line_no,
    r.message as crash_message, coalesce(r.text, b.text) as crash_text,
    case when c.basis = 'silent'
        and count(*) over (partition by f.failure_id, d.activity) * 2 < count(*)
            over (partition by f.failure_id)
            then 'unknown'
        else coalesce(d.activity, 'unknown') end
        as activity,
    d.witness as activity_witness, d.file_id as activity_file_id, d.line_no as activity_line_no,
    d.text as activity_text, coalesce(d.is_own_code, false) as is_own_code,
    m.outcome as request_outcome, m.node_id as request_node_id, m.pattern as request_pattern,
    m.file_id as request_file_id, m.line_no as request_line_no, m.text as request_text,
    m.from_ns as request_from_ns,
    m.top_retry, m.retry_limit,
    count(c.rank) over (partition by f.failure_id) as culprit_count,
    row_number()
        over (partition by f.failure_id order by (r.pattern is null), r.utc_ns, c.certainty desc,
            (c.basis = 'silent' or coalesce(d.activity, 'unknown') in ('unknown', 'step')), c.rank)
            as culprit_no
from failure_case as f
join who as c on c.job_id = f.job_id and c.attempt = f.attempt
left join crash as r on r.job_id = f.job_id and r.attempt = f.attempt
    and r.rank is not distinct from c.witness_rank
left join doing as d on d.job_id = f.job_id and d.attempt = f.attempt and d.rank = c.witness_rank
left join met as m on m.failure_id = f.failure_id and m.rank = c.witness_rank
left join met as b on b.failure_id = f.failure_id and b.rank = c.witness_rank
    and b.pattern = 'mountpoint_s3_failed' and c.basis = 'killed'
left join pattern_content as p on p.pattern = r.pattern
