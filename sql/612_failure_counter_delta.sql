-- A counter of a node inside a failure's window, or in the minute before its end where it is
-- shorter, and in spans of the same length before and after it.
-- grain: one row a failure, node and counter that grew in any of the spans
-- reads: failure, job_cluster, stats_reading, counter_interval, counter_sample, counter_kind,
-- reads: ais_event, threshold
-- public: yes
-- case: kept
-- note: Growth is that of counter_delta, taken of the lines of the spans alone, and known for the
-- note: interval between two statistics lines; when in it a counter grew is not printed. Errors are
-- note: few and whole: across an edge they are placed by the node's own warnings and errors of
-- note: their kind, in proportion; where none stand in the interval, all are given to the span that
-- note: holds the most of it, if that is more than lies outside the spans. Other counters are
-- note: shared by time. inside_least and inside_most bound the growth inside. is_complete: both
-- note: spans lie between statistics lines of one run whose counters are available; what a node
-- note: counted between its last line and a kill is lost.
create or replace view failure_counter_delta as
with edge as (
    select
        f.failure_id, c.cluster, epoch_ns(f.window_ended_at) as high_ns,
        least(epoch_ns(f.window_started_at), high_ns - t.value::bigint * 1000000000) as low_ns,
        high_ns - low_ns as long_ns
    from failure as f
    join threshold as t on t.name = 'counter_span_s'
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
span as (
    select failure_id, cluster, long_ns,
        unnest([
            {'span': 'before', 'start_ns': low_ns - long_ns, 'end_ns': low_ns},
            {'span': 'inside', 'start_ns': low_ns, 'end_ns': high_ns},
            {'span': 'after', 'start_ns': high_ns, 'end_ns': high_ns + long_ns}
        ], recursive := true)
    from edge
),
covered as (
    select
        s.failure_id, s.cluster, s.span, r.node_id,
        sum(least(r.utc_ns, s.end_ns) - greatest(coalesce(r.previous_ns, r.started_ns), s.start_ns))
            > 0.999 * any_value(s.long_ns) as is_whole
    from span as s
    join stats_reading as r on r.cluster = s.cluster and r.is_first_copy and r.is_counted
        and r.utc_ns > s.start_ns and coalesce(r.previous_ns, r.started_ns) < s.end_ns
    group by s.failure_id, s.cluster, s.span, r.node_id
),
complete as (
    select failure_id, cluster, node_id,
        count(*) filter (where is_whole and span <> 'after') = 2 as is_complete,
        count(*) filter (where is_whole and span = 'after') = 1 as is_after_complete
    from covered
    group by failure_id, cluster, node_id
),
growth as (
    select
        s.failure_id, s.cluster, s.span, s.long_ns, s.start_ns, s.end_ns, i.node_id, i.node_role,
        i.previous_ns, i.utc_ns, c.name as counter, c.file_id, c.line_no,
        case when i.is_first or c.value < p.value then c.value else c.value - p.value end as delta,
        least(i.utc_ns, s.end_ns) - greatest(i.previous_ns, s.start_ns) as overlap_ns,
        i.previous_ns >= s.start_ns and i.utc_ns <= s.end_ns as is_whole
    from span as s
    join counter_interval as i on i.cluster = s.cluster
        and i.utc_ns > s.start_ns and i.previous_ns < s.end_ns
    join counter_sample as c on c.file_id = i.file_id and c.line_no = i.line_no
        and c.name = coalesce(i.counter, c.name)
    join counter_sample as p on p.file_id = i.before_file_id and p.line_no = i.before_line_no
        and p.name = c.name
    where c.name like '%.n' or c.name like '%.size' or c.name like '%.ns.total'
        or c.name in ('getbatch.rxwait.ns', 'getbatch.throttle.ns')
),
grown as (
    select
        g.*, k.kind, k.meaning, coalesce(k.is_error, g.counter like 'err.%') as is_of_error,
        is_of_error and g.counter like '%.n' as is_counted,
        row_number() over (same order by overlap_ns desc, span <> 'inside', span) = 1
            and 2 * max(overlap_ns) over same >= (utc_ns - previous_ns) - sum(overlap_ns)
                over same + max(overlap_ns) over same as is_greatest
    from growth as g
    left join counter_kind as k on k.counter = g.counter
    where delta <> 0
    window same
        as (partition by g.failure_id, g.cluster, g.node_id, g.file_id, g.line_no, g.counter)
),
told as (
    select
        g.failure_id, g.cluster, g.node_id, g.span, g.counter, g.file_id, g.line_no,
        count(*) as all_count,
        count(*) filter (where e.utc_ns < g.start_ns) as before_count,
        count(*) filter (where e.utc_ns < g.end_ns) as until_count
    from grown as g
    join ais_event as e on e.cluster = g.cluster and e.node_id = g.node_id
        and e.utc_ns > g.previous_ns and e.utc_ns <= g.utc_ns and e.severity in ('W', 'E')
        and ((g.counter like '%getbatch%' and e.tier = 'get_batch')
            or (g.counter = 'err.kalive.n' and e.pattern like '%kalive%'))
    where g.is_counted and not g.is_whole
    group by all
),
placed as (
    select
        g.*,
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
        and t.node_id = g.node_id and t.span = g.span and t.counter = g.counter
        and t.file_id = g.file_id and t.line_no = g.line_no
),
summed as (
    select
        failure_id, cluster, node_id, max(node_role) as node_role, counter, kind, meaning, long_ns,
        is_of_error as is_error,
        coalesce(sum(part) filter (where span = 'before'), 0) as before,
        coalesce(sum(part) filter (where span = 'inside'), 0) as inside,
        coalesce(sum(part) filter (where span = 'after'), 0) as after,
        coalesce(sum(least_part) filter (where span = 'inside'), 0) as inside_least,
        coalesce(sum(most_part) filter (where span = 'inside'), 0) as inside_most,
        count(*) filter (where span = 'inside') > 0 as is_inside,
        arg_max(file_id, (span = 'inside', utc_ns)) as file_id,
        arg_max(line_no, (span = 'inside', utc_ns)) as line_no
    from placed
    group by all
)
select
    s.failure_id, s.cluster, s.node_id, s.node_role, s.counter, s.kind, s.is_error, s.meaning,
    round(s.before, 1) as before,
    round(s.inside, 1) as inside,
    round(s.after, 1) as after,
    round(s.inside_least, 1) as inside_least,
    round(s.inside_most, 1) as inside_most,
    round(s.long_ns / 1e9, 3) as span_s,
    round(s.before / (s.long_ns / 1e9), 4) as before_per_s,
    round(s.inside / (s.long_ns / 1e9), 4) as inside_per_s,
    round(s.after / (s.long_ns / 1e9), 4) as after_per_s,
    round(if(s.is_inside, s.inside / nullif(s.before, 0), null), 3) as ratio,
    coalesce(c.is_complete, false) as is_complete,
    coalesce(c.is_after_complete, false) as is_after_complete,
    s.file_id,
    s.line_no
from summed as s
left join complete as c on c.failure_id = s.failure_id and c.cluster = s.cluster
    and c.node_id = s.node_id
