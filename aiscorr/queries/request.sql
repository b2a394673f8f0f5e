-- Every line about one batch request (-p wid=ID), or one xaction (-p xid=ID), of all nodes and workers in order of time; tied_by tells lines that name it from those linked to it by their place in its chain or by their count of entries. A line without a time of its own (is_exact is false) has the latest moment that fits, as in the report.
-- without rows: name a request with -p wid=ID or an xaction with -p xid=ID (@chains has ids); where one was named, no line is about it
with line as (
    select event_at, true as is_exact, 'ais' as source, node_id, null as rank, pattern, 'name' as tied_by, file_id, line_no, text
    from ais_event
    where wid = $wid or xid = $xid or contains(text, $wid) or contains(text, $xid)
    union all by name
    select event_at, stamp_source in ('own', 'wrapper') as is_exact, 'worker' as source, rank, pattern, 'name' as tied_by, file_id, line_no, text
    from worker_event
    where wid = $wid or xid = $xid or contains(text, $wid) or contains(text, $xid)
    union all by name
    select e.event_at, true as is_exact, 'ais' as source, e.node_id, e.pattern, 'chain' as tied_by, e.file_id, e.line_no, e.text
    from get_batch_chain_step as s
    join ais_event as e on e.file_id = s.file_id and e.line_no = s.line_no
    where s.wid = $wid and not contains(e.text, $wid)
    union all by name
    select w.event_at, w.stamp_source in ('own', 'wrapper') as is_exact, 'worker' as source, w.rank, w.pattern, 'count' as tied_by, w.file_id, w.line_no, w.text
    from broken_request as b
    join get_batch_chain as g on g.chain_id = b.chain_id
    join worker_event as w on w.file_id = b.file_id and w.line_no = b.line_no
    where b.told_by = 'count' and (b.wid = $wid or g.xid = $xid)
),
placed as (
    select l.* replace (case when l.is_exact then l.event_at else coalesce((select min(t.event_at) from timeline as t where t.file_id = l.file_id and t.line_no = l.line_no), l.event_at) end as event_at)
    from line as l
)
select l.event_at, l.is_exact, l.source, l.node_id, l.rank, l.pattern, arg_max(l.tied_by, l.tied_by = 'name') as tied_by, l.text, i.path || ':' || l.line_no as line
from placed as l
join ingested_file as i on i.file_id = l.file_id
group by l.event_at, l.is_exact, l.source, l.node_id, l.rank, l.pattern, l.text, i.path, l.line_no
order by l.event_at, l.is_exact desc, i.path, l.line_no
