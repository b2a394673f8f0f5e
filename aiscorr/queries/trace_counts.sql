-- How often a function stands in each rank's Python trace, with -p word=all_reduce only it and lines that hold it; counts that differ show where ranks part.
select
    coalesce(c.function, c.source_file || ':' || c.source_line::varchar) as place,
    t.job_id,
    t.rank,
    t.local_rank,
    t.host,
    t.pid,
    sum(c.call_count)::bigint as call_count,
    max(c.line_no) as last_line_no,
    any_value(f.path) as path
from trace_call as c
join trace_position as t on t.file_id = c.file_id and t.pid is not distinct from c.pid
join source_file as f on f.file_id = c.file_id
where contains(lower(c.text), lower($word)) or ($word is null and c.function is not null)
group by all
order by place, t.job_id, t.rank, t.host, t.local_rank
