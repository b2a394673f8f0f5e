-- Stored lines of all nodes and workers that hold a text, the newest first (-p text='broken pipe' -p node=ID -p job=ID -p limit=200).
-- without rows: no stored line holds the text (-p text=…); plain lines are counted and not stored, rg searches the files
with line as (
    select event_at, 'ais' as source, node_id, null as job_id, null::integer as rank, pattern, path, line_no, text
    from ais_event
    where contains(lower(text), lower($text)) and ($node is null or node_id = $node) and $job is null
    union all by name
    select event_at, 'worker' as source, job_id, rank, pattern, path, line_no, text
    from worker_event
    where contains(lower(text), lower($text)) and ($job is null or job_id = $job) and $node is null
)
select event_at, source, node_id, job_id, rank, pattern, path, line_no, text
from line
order by event_at desc nulls last, path, line_no
limit coalesce($limit::integer, 200)
