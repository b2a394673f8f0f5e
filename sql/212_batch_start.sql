-- The first moment of an x-get-batch xaction, on the clock that the cluster's own logs prove.
-- grain: one row a cluster and xaction
-- reads: ais_line, clock_ais, ais_file
-- stored: yes
create or replace view batch_start as
select
    f.cluster,
    a.xid,
    min(a.local_ns - k.shift_ns) as utc_ns,
    arg_min(a.line_no, (a.local_ns - k.shift_ns, a.file_id, a.line_no)) as line_no,
    arg_min(a.text, (a.local_ns - k.shift_ns, a.file_id, a.line_no)) as text
from ais_line as a
join ais_file as f on f.file_id = a.file_id
join clock_ais as k on k.file_id = a.file_id
where a.pattern = 'ais_get_batch_started'
group by f.cluster, a.xid
