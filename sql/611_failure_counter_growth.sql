-- Growth of a counter between two statistics lines of a node, and what of it belongs to a span of a
-- failure.
-- grain: one row a failure, node, span, counter and statistics line by which it grew in or across
-- grain: the span
-- reads: failure_span, counter_interval, counter_sample, counter_kind, ais_event
-- case: yes
-- note: When in an interval a counter grew is not printed. Errors are few and whole: across an edge
-- note: they are placed by the node's own warnings and errors of their kind, in proportion; where
-- note: none stand in the interval, all are given to the span that holds the most of it, if that is
-- note: more than lies outside the spans.
create or replace view failure_counter_growth as
with line as (
    select s.failure_id, s.cluster, s.node_id, s.node_role, s.span, s.start_ns, s.end_ns, i.file_id,
        i.line_no, i.counter, i.before_file_id, i.before_line_no, i.is_first, i.previous_ns,
        i.utc_ns
    from failure_span as s
    join counter_interval as i on i.cluster = s.cluster and i.node_id = s.node_id
        and i.utc_ns > s.start_ns and i.previous_ns < s.end_ns
),
growth as (
    select l.*, c.name,
        case when l.is_first or c.value < p.value then c.value else c.value - p.value end as delta,
        least(l.utc_ns, l.end_ns) - greatest(l.previous_ns, l.start_ns) as overlap_ns,
        l.previous_ns >= l.start_ns and l.utc_ns <= l.end_ns as is_whole
    from line as l
    join counter_sample as c on c.file_id = l.file_id and c.line_no = l.line_no
        and c.name = coalesce(l.counter, c.name)
    join counter_sample as p on p.file_id = l.before_file_id and p.line_no = l.before_line_no
        and p.name = c.name
    where c.name like '%.n' or c.name like '%.size' or c.name like '%.ns.total'
        or c.name in ('getbatch.rxwait.ns', 'getbatch.throttle.ns')
),
grown as (
    select
        g.*, coalesce(k.is_error, g.name like 'err.%') and g.name like '%.n' as is_counted,
        row_number() over (same order by overlap_ns desc, span <> 'inside', span) = 1
            and 2 * max(overlap_ns) over same >= (utc_ns - previous_ns) - sum(overlap_ns)
                over same + max(overlap_ns) over same as is_greatest
    from growth as g
    left join counter_kind as k on k.counter = g.name
    where delta <> 0
    window same as (partition by g.failure_id, g.cluster, g.node_id, g.file_id, g.line_no, g.name)
),
told as (
    select
        g.failure_id, g.cluster, g.node_id, g.span, g.name, g.file_id, g.line_no,
        count(*) as all_count,
        count(*) filter (where e.utc_ns < g.start_ns) as before_count,
        count(*) filter (where e.utc_ns < g.end_ns) as until_count
    from grown as g
    join ais_event as e on e.cluster = g.cluster and e.node_id = g.node_id
        and e.utc_ns > g.previous_ns and e.utc_ns <= g.utc_ns and e.severity in ('W', 'E')
        and ((g.name like '%getbatch%' and e.tier = 'get_batch')
            or (g.name = 'err.kalive.n' and e.pattern like '%kalive%'))
    where g.is_counted and not g.is_whole
    group by g.failure_id, g.cluster, g.node_id, g.span, g.name, g.file_id, g.line_no
)
select
    g.failure_id, g.cluster, g.node_id, g.node_role, g.span, g.name as counter, g.delta, g.utc_ns,
    g.file_id, g.line_no,
    case
        when g.is_whole then g.delta::double
        when t.all_count is not null
            then round(g.delta::double * t.until_count / t.all_count)
                - round(g.delta::double * t.before_count / t.all_count)
        when g.is_counted then case when g.is_greatest then g.delta::double else 0.0 end
        else g.delta::double * g.overlap_ns / greatest(g.utc_ns - g.previous_ns, 1)
    end as part,
    case when g.is_whole then g.delta when t.all_count is not null then part else 0 end
        as least_part,
    case when t.all_count is not null then part else g.delta end as most_part
from grown as g
left join told as t on t.failure_id = g.failure_id and t.cluster = g.cluster
    and t.node_id = g.node_id and t.span = g.span and t.name = g.name and t.file_id = g.file_id
    and t.line_no = g.line_no
