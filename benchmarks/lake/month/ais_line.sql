-- What of a healthy node's day is kept as lines: the header, its name, what it says at times.
insert into lake.ais_line by name
with said as (
    select
        node_no,
        ((s.n + 0.5) * 86400 / $line_count)::bigint as second,
        l.severity, l.source_loc, l.pattern, l.xid, node_id,
        (hash(node_no, s.n, $day) % 9000)::varchar as number,
        l.message,
        l.capture
    from node
    cross join range($line_count) as s(n)
    join month_line as l on l.line_no = s.n % (select count(*) from month_line)
    union all
    select
        node_no, 0, 'I', 'daemon:263', 'ais_node_title', null, node_id, '',
        'Node t[{node}], Version 5.0.6b7de2441, build 2026-11-20T21:50:14+0000, '
            || 'CPUs(64, runtime=64), kubernetes',
        '{"build_time": "2026-11-20T21:50:14+0000", "node_id": "t[{node}]", '
            || '"version": "5.0.6b7de2441"}'
    from node
),
timed as (
    select
        * replace (
            replace(replace(message, '{node}', node_id), '{n}', number) as message,
            replace(replace(capture, '{node}', node_id), '{n}', number) as capture
        ),
        (epoch_ns($day::timestamp) + second * 1000000000 + hash(node_no) % 900000 * 1000)::bigint
            as local_ns
    from said
)
select
    ($first_file_id + t.node_no)::integer as file_id,
    2 + t.second as line_no,
    110 * (1 + t.second) as byte_offset,
    0::integer as process_no,
    t.local_ns,
    t.severity,
    t.source_loc,
    t.pattern,
    concat_ws(' ', t.severity, strftime(make_timestamp_ns(t.local_ns), '%H:%M:%S.%f')[:15],
        t.source_loc, t.message)
        as text,
    (length(text) - length(t.message))::integer as message_start,
    0::integer as follow_count,
    t.xid,
    t.capture,
    n.cluster as lake_cluster,
    $day::date as lake_day
from timed as t
join node as n on n.node_no = t.node_no
union all by name
select
    ($first_file_id + node_no)::integer as file_id,
    1::bigint as line_no,
    0::bigint as byte_offset,
    0::integer as process_no,
    epoch_ns($day::timestamp) as local_ns,
    'ais_log_rotated' as pattern,
    printf('Rotated at %s 00:00:00, host %s, go1.26.6 for linux/amd64',
        strftime($day::date, '%Y/%m/%d'), host)
        as text,
    0::integer as message_start,
    0::integer as follow_count,
    cluster as lake_cluster,
    $day::date as lake_day
from node
order by lake_cluster, file_id, line_no
