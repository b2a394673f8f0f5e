-- Where a process of a job was when its Python trace ended, and how often it had run its busiest
-- lines.
-- grain: one row a process in a file of Python's trace module
-- reads: trace_call, worker_file, rank_identity
-- stored: yes
-- note: rank is that of the file name, else of the log line with its process id, else the local
-- note: rank of the file name where the job has one node. last_call is the last function entered,
-- note: last_line the last line run; entered_count counts functions entered: a rank that stands
-- note: still has fewer than its peers.
create or replace view trace_position as
with call as (
    select w.job_id, w.path, t.*
    from trace_call as t
    join worker_file as w on w.file_id = t.file_id
),
identity as (
    select job_id, kind, number, rank
    from rank_identity
    where file_id is null
)
select
    c.job_id,
    coalesce(min(c.rank), min(i.rank), min(l.rank))::integer as rank,
    min(c.local_rank)::integer as local_rank,
    min(c.host) as host,
    c.pid,
    max(c.function) filter (where c.is_last) as last_call,
    max(c.text) filter (where c.is_last and c.source_file is not null) as last_line,
    max(c.clock) filter (where c.is_last) as clock,
    sum(c.call_count) filter (where c.function is not null)::bigint as entered_count,
    sum(c.call_count) filter (where c.source_file is not null)::bigint as run_count,
    c.file_id,
    max(c.line_no) as line_no
from call as c
left join identity as i on i.job_id = c.job_id and i.kind = 'pid' and i.number = c.pid
left join identity as l on l.job_id = c.job_id and l.kind = 'local' and l.number = c.local_rank
group by c.job_id, c.file_id, c.pid
