-- The window of a failure and the spans of the same length before and after it, for each node of
-- the clusters its job used.
-- grain: one row a failure, node and span (before, inside, after)
-- reads: failure, job_cluster, stats_reading
-- case: yes
-- note: covered_ratio is the share of the span that lies between two statistics lines of one run
-- note: whose counters are available; what a node counted between its last line and a kill is lost.
create or replace view failure_span as
with edge as (
    select
        f.failure_id, c.cluster,
        epoch_ns(f.window_started_at) as start_ns,
        epoch_ns(f.window_ended_at) as end_ns
    from failure as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
span as (
    select failure_id, cluster, 'before' as span, start_ns - (end_ns - start_ns) as start_ns,
        start_ns as end_ns
        from edge
    union all
    select failure_id, cluster, 'inside', start_ns, end_ns from edge
    union all
    select failure_id, cluster, 'after', end_ns, end_ns + (end_ns - start_ns) from edge
),
node as (
    select distinct cluster, node_id, node_role from stats_reading
),
covered as (
    select
        s.failure_id, s.span, r.cluster, r.node_id,
        sum(least(r.utc_ns, s.end_ns) - greatest(coalesce(r.previous_ns, r.started_ns), s.start_ns))
            as covered_ns
    from span as s
    join stats_reading as r on r.cluster = s.cluster and r.is_first_copy and r.is_counted
        and r.utc_ns > s.start_ns and coalesce(r.previous_ns, r.started_ns) < s.end_ns
    group by s.failure_id, s.span, r.cluster, r.node_id
)
select
    s.failure_id,
    s.cluster,
    n.node_id,
    n.node_role,
    s.span,
    s.start_ns,
    s.end_ns,
    case
        when s.end_ns > s.start_ns
            then least(coalesce(c.covered_ns, 0) / (s.end_ns - s.start_ns), 1.0) end
        as covered_ratio
from span as s
join node as n on n.cluster = s.cluster
left join covered as c on c.failure_id = s.failure_id and c.span = s.span and c.cluster = n.cluster
    and c.node_id = n.node_id
