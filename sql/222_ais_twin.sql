-- A line of an undated copy (stderr) that a dated file of the same node holds too.
-- grain: one row a repeated line of an undated file
-- reads: ais_line, ais_file, clock
-- stored: yes
-- note: The repeated line tells the moment, so what the copy alone holds (Go panics, the last
-- note: errors before a kill) can be placed between repeated lines.
create or replace view ais_twin as
select
    a.file_id,
    a.line_no,
    a.local_ns,
    min(b.local_ns - k.shift_ns) as utc_ns
from ais_line as a
join ais_file as f on f.file_id = a.file_id and f.date_method = 'mtime'
join ais_file as g on g.cluster = f.cluster and g.node_id = f.node_id and g.date_method <> 'mtime'
join ais_line as b on b.file_id = g.file_id and b.text = a.text
join clock as k on k.file_id = b.file_id
where a.severity is not null
group by a.file_id, a.line_no, a.local_ns
