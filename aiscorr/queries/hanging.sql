-- Jobs that may hang now: ranks whose stacks stand apart while others wait in a collective, where no failure is known.
select
    a.job_id,
    array_to_string(a.ranks[1:16], ',') || case when a.rank_count > 16 then ',…' else '' end as ranks,
    a.innermost as stand_in,
    a.activity,
    a.is_still,
    a.waiting_count,
    a.waiting_in,
    a.path || ':' || a.line_no::varchar as "where"
from standing_apart as a
order by a.is_still desc, a.is_moved, a.job_id, a.class_no
