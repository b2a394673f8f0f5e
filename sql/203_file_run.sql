-- The run of a daemon that an AIStore file begins in, told before any clock is known.
-- grain: one row an AIStore log file
-- reads: ais_file, ais_line, ingested_file
-- stored: yes
-- note: Files of one run share its time zone: INFO and ERROR with the same `Started up at`, and the
-- note: rotations that follow. A restart may come up in another zone, so it is another run.
create or replace view file_run as
with file as (
    select f.file_id, f.cluster, f.node_id, i.first_ns, i.last_ns
    from ais_file as f
    join ingested_file as i on i.file_id = f.file_id
),
header as (
    select file_id, arg_min(pattern, line_no) as pattern, min(local_ns) as local_ns
    from ais_line
    where pattern in ('ais_process_started', 'ais_log_rotated')
    group by file_id
),
started as (
    select f.file_id, f.cluster, f.node_id, h.local_ns as run_ns, f.first_ns, f.last_ns
    from file as f
    join header as h on h.file_id = f.file_id
    where h.pattern = 'ais_process_started'
),
rotated as (
    select f.file_id, f.cluster, f.node_id, f.first_ns
    from file as f
    join header as h on h.file_id = f.file_id
    where h.pattern = 'ais_log_rotated'
)
select file_id, cluster, node_id, run_ns
from started
union all
select r.file_id, r.cluster, r.node_id, s.run_ns
from rotated as r
asof left join (select distinct cluster, node_id, run_ns from started) as s
    on s.cluster = r.cluster and s.node_id = r.node_id and r.first_ns >= s.run_ns
