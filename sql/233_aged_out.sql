-- A span of a file's time whose rows were removed because they were old ([serve.retention]).
-- grain: one row a file, stored table and span
-- reads: row_removal, ingested_file, ais_file, worker_file, clock
-- public: yes
-- note: What failures cite, and what lies around their windows, is not removed while they are kept.
-- note: The file is not read again for it; its counts in source_file are those of the time it was
-- note: read. started_at and ended_at are null where all rows of the file are gone.
create or replace view aged_out as
select
    r.file_id,
    i.path,
    r.table_name,
    a.cluster,
    a.node_id,
    w.job_id,
    make_timestamp_ns(r.low_ns - coalesce(k.shift_ns, 0)) as started_at,
    make_timestamp_ns(r.high_ns - coalesce(k.shift_ns, 0)) as ended_at,
    r.row_count,
    r.removed_at,
    r.low_ns - coalesce(k.shift_ns, 0) as started_ns,
    r.high_ns - coalesce(k.shift_ns, 0) as ended_ns
from row_removal as r
join ingested_file as i on i.file_id = r.file_id
left join ais_file as a on a.file_id = r.file_id
left join worker_file as w on w.file_id = r.file_id
left join clock as k on k.file_id = r.file_id
