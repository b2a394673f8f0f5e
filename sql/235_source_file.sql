-- A file or archive member that was looked at, and what came of it.
-- grain: one row a file or archive member
-- reads: ingested_file, clock, ais_file, worker_file, row_removal
-- public: yes
create or replace view source_file as
select
    f.file_id,
    f.path,
    f.member,
    f.kind,
    f.state,
    f.kind_reason,
    f.problem,
    coalesce(a.node_id, f.node_id) as node_id,
    coalesce(a.cluster, f.cluster) as cluster,
    coalesce(w.job_id, f.job_id) as job_id,
    f.byte_count as bytes,
    f.line_count as lines,
    f.event_count as events,
    f.counter_count as counters,
    f.reject_count as rejects,
    make_timestamp_ns(f.first_ns - coalesce(c.shift_ns, 0)) as first_at,
    make_timestamp_ns(f.last_ns - coalesce(c.shift_ns, 0)) as last_at,
    d.path as duplicate_of,
    f.version,
    coalesce(r.row_count, 0) as removed
from ingested_file as f
left join clock as c on c.file_id = f.file_id
left join ais_file as a on a.file_id = f.file_id
left join worker_file as w on w.file_id = f.file_id
left join ingested_file as d on d.file_id = f.duplicate_of
left join (select file_id, sum(row_count)::bigint as row_count from row_removal group by file_id)
    as r
    on r.file_id = f.file_id
