-- A stretch of an AIStore log file, in UTC, whose rows were removed because they were old.
-- grain: one row a file, stored table and stretch
-- reads: row_removal, ais_file, clock
-- stored: yes
-- note: What aged_out says of AIStore's logs, without the names of files, so that views of counters
-- note: are not computed again with every file that comes.
create or replace view ais_removal as
select
    r.file_id,
    r.table_name,
    f.cluster,
    f.node_id,
    r.low_ns - k.shift_ns as low_ns,
    r.high_ns - k.shift_ns as high_ns
from row_removal as r
join ais_file as f on f.file_id = r.file_id
join clock as k on k.file_id = r.file_id
where r.low_ns is not null
