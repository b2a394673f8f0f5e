-- The run of a daemon that an AIStore file begins in, told before any clock is known, and its zone
-- where a file of that run prints or proves it.
-- grain: one row an AIStore log file
-- reads: ais_file, ais_line, ingested_file, clock_absolute
-- stored: yes
-- note: Files of one run share its time zone: INFO and ERROR with the same `Started up at`, and the
-- note: rotations that follow. A restart may come up in another zone, so it is another run.
create or replace view clock_run as
with header as (
    select f.file_id, f.cluster, f.node_id, i.first_ns, h.pattern, h.local_ns
    from ais_file as f
    join ingested_file as i on i.file_id = f.file_id
    left join (
        select file_id, arg_min(pattern, line_no) as pattern, min(local_ns) as local_ns
        from ais_line
        where pattern in ('ais_process_started', 'ais_log_rotated')
        group by file_id
    ) as h on h.file_id = f.file_id
),
file as (
    select h.file_id, h.cluster, h.node_id,
        case h.pattern when 'ais_process_started' then h.local_ns
            when 'ais_log_rotated' then s.local_ns end
            as run_ns
    from header as h
    asof left join (
        select distinct cluster, node_id, local_ns from header where pattern = 'ais_process_started'
    ) as s on s.cluster = h.cluster and s.node_id = h.node_id and h.first_ns >= s.local_ns
),
own as (
    select
        file_id, offset_ns, line_no, text,
        case kind when 'utm' then 'anchor' else 'utc_marker' end as method,
        case kind when 'utm' then 0.97 else 0.99 end as confidence
    from clock_absolute
    qualify row_number()
        over (partition by file_id order by (kind = 'utm'), vote_count desc, kind) = 1
),
run as (
    select f.cluster, f.node_id, f.run_ns, mode(o.offset_ns order by o.offset_ns) as offset_ns,
        max(o.confidence) - 0.02 as confidence
    from own as o
    join file as f on f.file_id = o.file_id and f.run_ns is not null
    group by f.cluster, f.node_id, f.run_ns
)
select
    f.file_id, f.run_ns,
    coalesce(o.offset_ns, r.offset_ns) as offset_ns,
    coalesce(o.method, case when r.offset_ns is not null then 'anchor' end) as method,
    coalesce(o.confidence, r.confidence) as confidence,
    o.line_no, o.text
from file as f
left join own as o on o.file_id = f.file_id
left join run as r on r.cluster = f.cluster and r.node_id = f.node_id and r.run_ns = f.run_ns
