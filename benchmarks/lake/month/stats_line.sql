-- A statistics line of a node, at equal distances over the day.
insert into lake.stats_line by name
select
    ($first_file_id + node_no)::integer as file_id,
    3 + s.n * 86400 // $stats_count as line_no,
    110 * line_no as byte_offset,
    0::integer as process_no,
    (epoch_ns($day::timestamp) + (s.n * 86400 // $stats_count) * 1000000000
        + hash(node_no) % 900000 * 1000)::bigint
        as local_ns,
    $counter_count::integer as name_count,
    true as is_complete,
    cluster as lake_cluster,
    $day::date as lake_day
from node
cross join range($stats_count) as s(n)
order by lake_cluster, file_id, line_no
