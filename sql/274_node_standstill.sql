-- A span in which the process of an AIStore node stood still, by a line of its statistics runner
-- that came off its beat.
-- grain: one row a late line
-- reads: stats_reading, ais_event, threshold
-- stored: yes
-- note: A node prints its statistics and the load of its processors at most every ten seconds, on a
-- note: ticker that begins as the runner does (stats/common.go, 3.30 to 5.0): these lines lie whole
-- note: tens of seconds apart, and one that does not was due earlier. The process did not run from
-- note: then at the latest, and from the node's line before at the earliest, as far as peers would
-- note: not have missed it. A beat is what two of the three ticks before have in common. In a
-- note: cluster of another beat nothing is told, and where beats are uneven a line may be early.
create or replace view node_standstill as
with process as (
    select cluster, node_id, process_seq, coalesce(any_value(started_ns), min(utc_ns)) as started_ns
    from stats_reading
    group by cluster, node_id, process_seq
),
tick as (
    select *
    from (
        select cluster, node_id, process_seq, utc_ns, file_id, line_no
        from stats_reading
        where is_first_copy
        union all
        select e.cluster, e.node_id, arg_max(p.process_seq, p.started_ns), e.utc_ns, e.file_id,
            e.line_no
        from ais_event as e
        join process as p on p.cluster = e.cluster and p.node_id = e.node_id
            and p.started_ns <= e.utc_ns
        where e.node_effect in ('cpu_high', 'cpu_ok')
            or regexp_matches(e.text, '\bStarting (target|proxy)stats\b')
        group by e.cluster, e.node_id, e.utc_ns, e.file_id, e.line_no
    )
    qualify coalesce(utc_ns - lag(utc_ns) over (
        partition by cluster, node_id, process_seq order by utc_ns, line_no) > 1000000000, true)
),
spaced as (
    select *, utc_ns - lag(utc_ns) over run as gap_ns,
        lag(utc_ns) over run as one_ns, lag(utc_ns, 2) over run as two_ns,
        lag(utc_ns, 3) over run as three_ns
    from tick
    window run as (partition by cluster, node_id, process_seq order by utc_ns, line_no)
),
steady as (
    select cluster,
        20 * median(least(gap_ns % 10000000000, 10000000000 - gap_ns % 10000000000)) as spread_ns
    from spaced
    where gap_ns is not null
    group by cluster
    having avg(if((gap_ns + 500000000) % 10000000000 <= 1000000000, 1, 0)) >= 0.8
),
late as (
    select s.*, c.spread_ns,
        case
            when (one_ns - two_ns + 500000000) % 10000000000 <= 1000000000
                or (one_ns - three_ns + 500000000) % 10000000000 <= 1000000000 then one_ns
            when (two_ns - three_ns + 500000000) % 10000000000 <= 1000000000 then two_ns
        end as beat_ns,
        (utc_ns - beat_ns) % 10000000000 as late_ns
    from spaced as s
    join steady as c on c.cluster = s.cluster
    where (gap_ns + 500000000) % 10000000000 > 1000000000
)
select
    l.cluster, l.node_id,
    greatest(
        max(e.utc_ns),
        l.utc_ns - l.late_ns - any_value(d.value)::bigint * 1000000000,
        any_value(l.one_ns))::bigint
        as started_ns,
    l.utc_ns - l.late_ns as known_ns,
    l.utc_ns as ended_ns,
    l.file_id, l.line_no,
    'its statistics came ' || round(l.late_ns / 1e9, 1)::varchar || ' s late' as text
from late as l
join threshold as t on t.name = 'standstill_s'
    and l.late_ns between t.value * 1e9 and 10000000000 - l.spread_ns
join threshold as d on d.name = 'kalive_detect_s'
left join ais_event as e on e.cluster = l.cluster and e.node_id = l.node_id
    and e.utc_ns between l.one_ns and l.utc_ns - l.late_ns
group by l.cluster, l.node_id, l.utc_ns, l.late_ns, l.file_id, l.line_no
