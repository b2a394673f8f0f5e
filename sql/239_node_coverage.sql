-- A span of time for which the logs of a node are available.
-- grain: one row a span of a node
-- reads: ais_file, ais_event, stats_line, clock, ais_removal
-- public: yes
-- stored: yes
-- note: Files whose times meet, or lie less than an hour and a bit apart (a marker is written every
-- note: hour), make one span. A downloaded log can lack its last minute: nlog flushes late. A
-- note: stretch whose events were removed because they were old is not covered.
create or replace view node_coverage as
with line as (
    select cluster, node_id, file_id, utc_ns
    from ais_event
    union all
    select f.cluster, f.node_id, s.file_id, s.local_ns - k.shift_ns as utc_ns
    from stats_line as s
    join ais_file as f on f.file_id = s.file_id
    join clock as k on k.file_id = s.file_id
),
gone as (
    select file_id, low_ns, max(high_ns) as high_ns from ais_removal
        where table_name in ('ais_line', 'stats_line') group by file_id, low_ns
),
span as (
    select l.cluster, l.node_id, l.file_id, min(l.utc_ns) as first_ns, max(l.utc_ns) as last_ns
    from line as l
    asof left join gone as g on g.file_id = l.file_id and l.utc_ns >= g.low_ns
    where g.high_ns is null or l.utc_ns >= g.high_ns
    group by l.cluster, l.node_id, l.file_id, g.low_ns
),
marked as (
    select
        *,
        first_ns - max(last_ns)
            over (partition by cluster, node_id order by first_ns,
                last_ns rows between unbounded preceding and 1 preceding)
                as gap_ns
    from span
),
numbered as (
    select *,
        sum(case when gap_ns > 3900000000000 then 1 else 0 end)
            over (partition by cluster, node_id order by first_ns, last_ns) as span_no
    from marked
)
select
    cluster,
    node_id,
    span_no::integer as span_no,
    make_timestamp_ns(min(first_ns)) as started_at,
    make_timestamp_ns(max(last_ns)) as ended_at,
    min(first_ns) as started_ns,
    max(last_ns) as ended_ns,
    count(distinct file_id) as file_count,
    arg_min(file_id, (first_ns, file_id)) as file_id,
    1 as line_no
from numbered
group by cluster, node_id, span_no
