-- A counter of a node inside a failure's window, and in spans of the same length before and after
-- it.
-- grain: one row a failure, node and counter that grew in any of the spans
-- reads: failure_span, failure_counter_growth, counter_kind
-- public: yes
-- case: kept
-- note: Growth is that of counter_delta, taken of the lines of the spans alone, and known for the
-- note: interval between two statistics lines. Of an interval over an edge errors are placed whole,
-- note: by the node's own lines or by the greater part, and other counters are shared by time;
-- note: inside_least and inside_most bound the growth inside.
create or replace view failure_counter_delta as
with grown as (
    select
        failure_id, cluster, node_id, max(node_role) as node_role, counter,
        sum(part) filter (where span = 'before') as before,
        sum(part) filter (where span = 'inside') as inside,
        sum(part) filter (where span = 'after') as after,
        coalesce(sum(least_part) filter (where span = 'inside'), 0) as inside_least,
        coalesce(sum(most_part) filter (where span = 'inside'), 0) as inside_most,
        arg_max(file_id, (span = 'inside', utc_ns)) as file_id,
        arg_max(line_no, (span = 'inside', utc_ns)) as line_no
    from failure_counter_growth
    group by failure_id, cluster, node_id, counter
),
cover as (
    select
        failure_id, cluster, node_id,
        max(end_ns - start_ns) / 1e9 as span_s,
        min(covered_ratio) filter (where span <> 'after') as covered_ratio,
        min(covered_ratio) filter (where span = 'after') as after_ratio
    from failure_span
    group by failure_id, cluster, node_id
)
select
    g.failure_id, g.cluster, g.node_id, g.node_role, g.counter, k.kind,
    coalesce(k.is_error, g.counter like 'err.%') as is_error,
    k.meaning,
    round(coalesce(g.before, 0), 1) as before,
    round(coalesce(g.inside, 0), 1) as inside,
    round(coalesce(g.after, 0), 1) as after,
    round(g.inside_least, 1) as inside_least,
    round(g.inside_most, 1) as inside_most,
    round(c.span_s, 3) as span_s,
    round(coalesce(g.before, 0) / nullif(c.span_s, 0), 4) as before_per_s,
    round(coalesce(g.inside, 0) / nullif(c.span_s, 0), 4) as inside_per_s,
    round(coalesce(g.after, 0) / nullif(c.span_s, 0), 4) as after_per_s,
    round(g.inside / nullif(g.before, 0), 3) as ratio,
    c.covered_ratio > 0.999 as is_complete,
    c.after_ratio > 0.999 as is_after_complete, g.file_id, g.line_no
from grown as g
join cover as c on c.failure_id = g.failure_id and c.cluster = g.cluster and c.node_id = g.node_id
left join counter_kind as k on k.counter = g.counter
