-- What the lines of an AIStore file, of its run, or cluster maps that other nodes saw too tell of
-- its clock.
-- grain: one row an AIStore log file of which any of them tells something
-- reads: ais_file, clock_run, clock_relative, clock_group
-- stored: yes
-- note: Nodes known only against each other are shifted by what clock_group tells.
create or replace view clock_told as
select file_id, offset_ns, method, confidence, line_no, text
from clock_run
union all
select
    r.file_id,
    r.offset_ns + case when r.is_absolute then 0 else coalesce(g.shift_ns, 0) end as offset_ns,
    'anchor' as method,
    case when r.is_absolute then 0.95 else 0.7 end as confidence,
    r.line_no,
    r.text
from clock_relative as r
join ais_file as f on f.file_id = r.file_id
left join clock_group as g on g.cluster = f.cluster
where not exists (select 1 from clock_run as o where o.file_id = r.file_id)
