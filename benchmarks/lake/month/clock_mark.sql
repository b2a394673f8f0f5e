-- The header gives a file its date.
insert into lake.clock_mark by name
select
    ($first_file_id + node_no)::integer as file_id,
    1::bigint as line_no,
    0::integer as process_no,
    'header' as kind,
    epoch_ns($day::timestamp) as local_ns,
    printf('Rotated at %s 00:00:00, host %s, go1.26.6 for linux/amd64',
        strftime($day::date, '%Y/%m/%d'), host)
        as text,
    cluster as lake_cluster,
    $day::date as lake_day
from node
order by lake_cluster, file_id
