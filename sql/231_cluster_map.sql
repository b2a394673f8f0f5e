-- A cluster map that a node of AIStore saw: how many targets and proxies the cluster had.
-- grain: one row a line with a cluster map
-- reads: clock_mark, ais_file, clock
-- stored: yes
-- note: Nodes that no line names are known by these counts alone.
create or replace view cluster_map as
select
    f.cluster,
    m.local_ns - k.shift_ns as utc_ns,
    regexp_extract(m.text, '\], t=(\d+), p=(\d+)\]', 1)::integer as target_count,
    regexp_extract(m.text, '\], t=(\d+), p=(\d+)\]', 2)::integer as proxy_count
from clock_mark as m
join ais_file as f on f.file_id = m.file_id
join clock as k on k.file_id = m.file_id
where m.kind = 'smap' and regexp_matches(m.text, '\], t=\d+, p=\d+\]')
