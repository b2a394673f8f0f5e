-- What is available of a case: the output of a rank, the log of an AIStore node, a dump or a stack.
-- grain: one row a failure and thing that is or should be available
-- reads: output_coverage, failure_case, job_cluster, node, node_coverage, cluster_extent,
-- reads: failed_rank, fr_failure, fr_dump, stack_process
-- public: yes
-- case: kept
-- note: state is complete, cut, missing or unknown. Only a line that shows it makes anything
-- note: complete: silence means nothing where the state is another. The log of a node is complete
-- note: if one span of it covers the time from when the ranks stopped to when the failure was
-- note: reported. Nodes that only the cluster map counts are one row without a node_id, as is the
-- note: storage of a job of which no log was read. A dump or a stack is missing where others of the
-- note: attempt have one.
create or replace view coverage as
with used as (
    select f.failure_id, f.job_id, f.attempt, f.stall_ns, f.heard_ns, c.cluster
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
around as (
    select
        u.failure_id, u.job_id, u.stall_ns, u.heard_ns, n.node_id, v.started_ns, v.ended_ns,
        coalesce(v.file_id, n.file_id) as file_id, coalesce(v.line_no, n.line_no) as line_no
    from used as u
    join node as n on n.cluster = u.cluster
    left join node_coverage as v on v.cluster = n.cluster and v.node_id = n.node_id
    qualify row_number() over (
        partition by u.failure_id, u.cluster, n.node_id
        order by (v.started_ns <= u.heard_ns) desc nulls last, abs(v.started_ns - u.heard_ns)
    ) = 1
),
uncounted as (
    select
        u.failure_id, u.job_id, e.target_count + e.proxy_count - count(n.node_id) as node_count
    from used as u
    join cluster_extent as e
        on e.job_id = u.job_id and e.attempt = u.attempt and e.cluster = u.cluster
    left join node as n on n.cluster = u.cluster
    group by u.failure_id, u.job_id, u.cluster, e.target_count, e.proxy_count
    having e.target_count + e.proxy_count > count(n.node_id)
),
part as (
    select f.failure_id, f.job_id, f.attempt, coalesce(g.path_attempt, f.attempt) as path_attempt,
        f.hang_start_ns, f.ended_ns, r.rank
    from failure_case as f
    join failed_rank as r on r.job_id = f.job_id and r.attempt = f.attempt
    left join fr_failure as g on g.job_id = f.job_id and g.attempt = f.attempt
),
dump as (
    select
        p.failure_id, p.job_id, p.rank, d.state as dump_state, d.problem, d.first_ns, d.last_ns,
        d.file_id
    from part as p
    left join fr_dump as d
        on d.job_id = p.job_id and d.path_attempt = p.path_attempt and d.rank = p.rank
    where exists (
        from fr_dump as o where o.job_id = p.job_id and o.path_attempt = p.path_attempt
    )
    qualify row_number() over (
        partition by p.failure_id, p.rank order by (d.state = 'used') desc nulls last, d.file_id
    ) = 1
),
stack as (
    select p.failure_id, p.job_id, p.rank, s.file_id, s.line_no,
        s.taken_ns, s.taken_ns between p.hang_start_ns and p.ended_ns as is_of_hang
    from part as p
    left join stack_process as s on s.job_id = p.job_id and s.rank = p.rank
        and coalesce(s.attempt, p.attempt) = p.attempt
    where exists (
        from stack_process as o
        where o.job_id = p.job_id and coalesce(o.attempt, p.attempt) = p.attempt
    )
    qualify row_number() over (
        partition by p.failure_id, p.rank
        order by s.taken_ns desc nulls last, s.kind desc, s.file_id, s.dump_no
    ) = 1
),
every as (
    select
        failure_id, job_id, 'rank ' || rank::varchar as "of", 'output' as kind, rank,
        null::varchar as node_id, started_ns, ended_ns, state, because, file_id, line_no
    from output_coverage
    union all by name
    select
        failure_id, job_id, 'node ' || node_id as "of", 'log' as kind, node_id, started_ns,
        ended_ns,
        case
            when started_ns is null then 'missing'
            when stall_ns is null or heard_ns is null then 'unknown'
            when started_ns <= stall_ns and ended_ns >= heard_ns then 'complete'
            else 'cut'
        end as state,
        case
            when started_ns is null then 'no log of it was read'
            when stall_ns is null or heard_ns is null
                then 'the moment of the failure is not known'
            when ended_ns < stall_ns then 'its log ends before the ranks stopped'
            when started_ns > heard_ns then 'its log begins after the failure was reported'
            when started_ns > stall_ns then 'its log begins after the ranks stopped'
            when ended_ns < heard_ns then 'its log ends before the failure was reported'
            else 'its log covers the time from when the ranks stopped to the report of the failure'
        end as because,
        file_id, line_no
    from around
    union all by name
    select
        failure_id, job_id, node_count::varchar || ' other nodes' as "of", 'log' as kind,
        'missing' as state, 'the cluster map counts them, and no log of them was read' as because
    from uncounted
    union all by name
    select
        failure_id, job_id, 'storage' as "of", 'log' as kind, 'missing' as state,
        'no log that was read is known to be of the job''s AIStore cluster and its time' as because
    from failure_case as f
    where not exists (from used as u where u.failure_id = f.failure_id)
    union all by name
    select
        failure_id, job_id, 'dump of rank ' || rank::varchar as "of", 'dump' as kind, rank,
        first_ns as started_ns, last_ns as ended_ns,
        case
            when dump_state is null then 'missing'
            when problem is not null or dump_state = 'unreadable' then 'cut'
            when dump_state = 'used' then 'complete'
            else 'unknown'
        end as state,
        case
            when dump_state is null
                then 'other ranks have a Flight Recorder dump, this one has none'
            when problem is not null then 'it could not be read whole: ' || problem
            when dump_state = 'used' then 'it was read whole, and it belongs to this failure'
            else 'it is not used: ' || replace(dump_state, '_', ' ')
        end as because,
        file_id
    from dump
    union all by name
    select
        failure_id, job_id, 'stack of rank ' || rank::varchar as "of", 'stack' as kind, rank,
        taken_ns as started_ns, taken_ns as ended_ns,
        case
            when file_id is null then 'missing'
            when is_of_hang then 'complete'
            else 'unknown'
        end as state,
        case
            when file_id is null then 'other ranks have a stack, this one has none'
            when is_of_hang then 'it was taken while the ranks waited'
            else 'no line shows that it was taken while the ranks waited'
        end as because,
        file_id, line_no
    from stack
)
select
    failure_id, job_id, "of", kind, rank, node_id, make_timestamp_ns(started_ns) as started_at,
    make_timestamp_ns(ended_ns) as ended_at, state, because, file_id, line_no
from every
