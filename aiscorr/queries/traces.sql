-- Python traces (trace, NicerTrace) of the ranks: the last call and line of each, and how many calls it made; the one that stands still has fewer.
select
    t.job_id,
    t.rank,
    t.local_rank,
    t.host,
    t.pid,
    t.last_call,
    trim(t.last_line) as last_line,
    t.entered_count,
    t.run_count,
    f.path || ':' || t.line_no::varchar as "where"
from trace_position as t
join source_file as f on f.file_id = t.file_id
order by t.job_id, t.rank, t.host, t.local_rank, t.pid
