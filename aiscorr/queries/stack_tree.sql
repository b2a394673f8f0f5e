-- The tree of calls the ranks stood in when stacks were last taken: a row where ranks part, the odd ones at the smaller branches.
select
    t.job_id,
    t.rank_count,
    array_to_string(t.ranks[1:16], ',') || case when t.rank_count > 16 then ',…' else '' end as ranks,
    repeat('  ', t.indent) || t.first_call || case when t.call_count > 2 then ' > … > ' || t.last_call when t.call_count = 2 then ' > ' || t.last_call else '' end as calls,
    t.activity,
    f.path || ':' || t.line_no::varchar as "where"
from stack_tree as t
join source_file as f on f.file_id = t.file_id
order by t.job_id, t.position
