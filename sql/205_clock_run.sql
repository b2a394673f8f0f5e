-- The zone of a daemon's run, where one of its files prints or proves it.
-- grain: one row a file of such a run
-- reads: clock_absolute, file_run
-- stored: yes
create or replace view clock_run as
with own as (
    select
        file_id,
        offset_ns,
        case kind when 'utm' then 'anchor' else 'utc_marker' end as method,
        case kind when 'utm' then 0.97 else 0.99 end as confidence,
        line_no,
        text
    from clock_absolute
    qualify row_number()
        over (partition by file_id order by (kind = 'utm'), vote_count desc, kind) = 1
),
run as (
    select r.cluster, r.node_id, r.run_ns, mode(o.offset_ns order by o.offset_ns) as offset_ns,
        max(o.confidence) as confidence
    from own as o
    join file_run as r on r.file_id = o.file_id and r.run_ns is not null
    group by r.cluster, r.node_id, r.run_ns
)
select file_id, offset_ns, method, confidence, line_no, text
from own
union all
select f.file_id, r.offset_ns, 'anchor' as method, r.confidence - 0.02 as confidence,
    null as line_no, null as text
from run as r
join file_run as f on f.cluster = r.cluster and f.node_id = r.node_id and f.run_ns = r.run_ns
where not exists (select 1 from own as o where o.file_id = f.file_id)
