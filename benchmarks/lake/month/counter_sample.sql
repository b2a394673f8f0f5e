-- Each counter of each statistics line: totals that grow with the month, and values that go up
-- and down.
insert into lake.counter_sample by name
select
    ($first_file_id + node_no)::integer as file_id,
    3 + s.n * 86400 // $stats_count as line_no,
    0::integer as process_no,
    (epoch_ns($day::timestamp) + (s.n * 86400 // $stats_count) * 1000000000
        + hash(node_no) % 900000 * 1000)::bigint
        as local_ns,
    c.name,
    case
        when starts_with(c.name, 'err.') then hash(c.name, node_no) % 40
        when c.name = 'state.flags' then 6
        when regexp_matches(c.name, '\.(n|size|total|time)$')
            then (epoch($day::date)::bigint // 86400 % 10000 * $stats_count + s.n)
                * (1000 + hash(c.name) % 100000)
                + hash(node_no, s.n, c.name) % 1000
        else hash(node_no, s.n, c.name, $day) % 10000000
    end::bigint as value,
    cluster as lake_cluster,
    $day::date as lake_day
from node
cross join range($stats_count) as s(n)
cross join month_counter as c
order by lake_cluster, file_id, line_no
