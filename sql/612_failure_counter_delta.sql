-- A counter of a node inside a failure's window, and in spans of the same length before and after it.
-- grain: one row a failure, node and counter that grew in any of the spans
-- reads: failure_span, counter_interval, counter_sample, counter_kind
-- public: yes
-- stored: yes
-- note: Growth is that of counter_delta, taken of the lines of the spans alone, and known for the interval between two statistics lines; an interval at an edge is prorated by time. before, inside and after are growths, *_per_s their rates, ratio is inside over before. is_complete: the spans before and inside lie wholly between statistics lines.
create or replace view failure_counter_delta as
with line as (
    select s.failure_id, s.cluster, s.node_id, s.node_role, s.span, s.start_ns, s.end_ns, i.file_id, i.line_no, i.counter, i.before_file_id, i.before_line_no, i.is_first, i.previous_ns, i.utc_ns
    from failure_span as s
    join counter_interval as i on i.cluster = s.cluster and i.node_id = s.node_id and i.utc_ns > s.start_ns and i.previous_ns < s.end_ns
),
growth as (
    select l.*, c.name, case when l.is_first or c.value < p.value then c.value else c.value - p.value end as delta
    from line as l
    join counter_sample as c on c.file_id = l.file_id and c.line_no = l.line_no and c.name = coalesce(l.counter, c.name)
    join counter_sample as p on p.file_id = l.before_file_id and p.line_no = l.before_line_no and p.name = c.name
    where c.name like '%.n' or c.name like '%.size' or c.name like '%.ns.total' or c.name in ('getbatch.rxwait.ns', 'getbatch.throttle.ns')
),
share as (
    select
        failure_id, cluster, node_id, node_role, span, name as counter, utc_ns, file_id, line_no,
        delta::double * (least(utc_ns, end_ns) - greatest(previous_ns, start_ns)) / greatest(utc_ns - previous_ns, 1) as part
    from growth
    where delta <> 0
),
grown as (
    select
        failure_id, cluster, node_id, any_value(node_role) as node_role, counter,
        sum(part) filter (where span = 'before') as before,
        sum(part) filter (where span = 'inside') as inside,
        sum(part) filter (where span = 'after') as after,
        arg_max(file_id, (span = 'inside', utc_ns)) as file_id,
        arg_max(line_no, (span = 'inside', utc_ns)) as line_no
    from share
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
