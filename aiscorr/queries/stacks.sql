-- Ranks grouped by what their main threads stood in when stacks were last taken, the odd ones marked; @stack_tree shows where they part.
select
    c.job_id,
    c.class_no,
    c.rank_count,
    array_to_string(c.ranks[1:16], ',') || case when c.rank_count > 16 then ',…' else '' end as ranks,
    c.is_outlier,
    c.activity,
    c.innermost,
    c.first_difference,
    array_to_string(c.moved_ranks[1:16], ',') as moved_ranks,
    f.path || ':' || c.line_no::varchar as "where"
from stack_class as c
join source_file as f on f.file_id = c.file_id
order by c.job_id, c.class_no
