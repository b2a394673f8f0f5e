-- How far nodes whose clocks are known only against each other are from UTC, told by nodes whose
-- UTC is known.
-- grain: one row a cluster
-- reads: ais_file, ingested_file, clock_run, clock_date, clock_relative, threshold
-- stored: yes
-- note: Logs collected at one time end together, within a minute or two. Worked example: three
-- note: nodes agree among themselves and end at 15:07:15; a fourth, known to be at UTC+1, ends at
-- note: 15:07:05 = 14:07:05 UTC; so the three are at UTC+1 too.
create or replace view clock_group as
with node_zone as (
    select f.cluster, f.node_id, mode(r.offset_ns order by r.offset_ns) as offset_ns
    from clock_run as r
    join ais_file as f on f.file_id = r.file_id
    group by f.cluster, f.node_id
),
last_line as (
    select f.cluster, z.offset_ns as known_ns, r.offset_ns as relative_ns,
        i.last_ns + coalesce(d.shift_ns, 0) as last_ns
    from ais_file as f
    join ingested_file as i on i.file_id = f.file_id
    left join clock_date as d on d.file_id = f.file_id
    left join node_zone as z on z.cluster = f.cluster and z.node_id = f.node_id
    left join clock_relative as r on r.file_id = f.file_id and not r.is_absolute
),
gap as (
    select
        cluster,
        max(last_ns - relative_ns)
            filter (where known_ns is null) - max(last_ns - known_ns) as gap_ns
    from last_line
    group by cluster
)
select
    cluster,
    (round(gap_ns / 900e9) * 900e9)::bigint as shift_ns
from gap
where abs(gap_ns - round(gap_ns / 900e9) * 900e9)
    < (select value * 1000000000 from threshold where name = 'zone_residual_s')
