-- A worker line and an AIStore line that speak of the same request, or of the same object that one
-- target did not have, and the clock difference they prove.
-- grain: one row a worker file and possible offset
-- reads: worker_line, ais_line, clock_ais, worker_file, threshold
-- stored: yes
-- note: A line with its own stamp comes up to minutes after the server's; a traceback line without
-- note: stamp lies between the stamped lines around it, which often leaves one quarter hour only;
-- note: of several, none is the likeliest offset, then whole and half hours.
create or replace view clock_worker_anchor as
with step as (
    select value::bigint * 1000000000 as ns from threshold where name = 'zone_step_s'
),
stamped as (
    select file_id, line_no, local_ns
    from worker_line
    where stamp_source = 'own' and zone_offset_s is null
),
client as (
    select
        w.file_id,
        w.line_no,
        w.text,
        coalesce(w.wid, w.node_id || ' ' || w.bucket || '/' || w.object) as name,
        w.local_ns as low_ns,
        case when w.stamp_source = 'own' then w.local_ns else coalesce(s.local_ns, f.last_ns) end
            as high_ns,
        w.stamp_source = 'own' as is_exact
    from worker_line as w
    join worker_file as f on f.file_id = w.file_id and (not f.is_utc or f.zone is not null)
    asof left join stamped as s on s.file_id = w.file_id and s.line_no >= w.line_no
    where (w.wid is not null
        or (w.node_id is not null and w.object is not null and w.bucket is not null))
        and w.local_ns is not null and w.zone_offset_s is null and w.stamp_source <> 'after'
),
server as (
    select a.wid as name, a.local_ns - k.shift_ns as utc_ns from ais_line as a
        join clock_ais as k on k.file_id = a.file_id where a.wid is not null
    union all
    select regexp_extract(a.text, '\bt\[([^\]\s]+)\]: \w+://', 1) || ' ' || a.bucket || '/'
        || a.object as name,
        max(a.local_ns - k.shift_ns)
    from ais_line as a
    join clock_ais as k on k.file_id = a.file_id
    join threshold as g on g.name = 'chain_gap_s'
    where a.pattern = 'ais_http_not_found' and a.object is not null
    group by 1, g.value
    having max(a.local_ns - k.shift_ns) - min(a.local_ns - k.shift_ns) <= g.value * 1e9
),
pair as (
    select
        c.file_id,
        c.line_no,
        c.text,
        c.low_ns - max(a.utc_ns) as low_gap_ns,
        c.high_ns - max(a.utc_ns) as high_gap_ns,
        c.is_exact
    from client as c
    join server as a on a.name = c.name
    group by c.file_id, c.line_no, c.text, c.low_ns, c.high_ns, c.is_exact
),
fitting as (
    select
        p.file_id, p.line_no, p.text, p.is_exact, (unnest(generate_series(
            greatest(
                case when p.is_exact then floor((p.low_gap_ns + 5000000000) / t.ns)
                    else ceil((p.low_gap_ns - 5000000000) / t.ns) end,
                -z.value * 1000000000 / t.ns)::bigint,
            least(
                floor((case when p.is_exact then p.low_gap_ns else p.high_gap_ns end + 5000000000)
                    / t.ns),
                z.value * 1000000000 / t.ns)::bigint
        )) * t.ns)::bigint as offset_ns
    from pair as p
    cross join step as t
    join threshold as z on z.name = 'zone_span_s'
),
candidate as (
    select
        *,
        count(*) over (partition by file_id, line_no) > 1 as is_ambiguous
    from fitting
    qualify row_number()
        over (partition by file_id, line_no order by offset_ns <> 0, offset_ns % 3600000000000 <> 0,
            offset_ns % 1800000000000 <> 0, abs(offset_ns), offset_ns)
            = 1
)
select
    file_id,
    offset_ns,
    bool_and(is_ambiguous) as is_ambiguous,
    min(line_no) as line_no,
    arg_min(text, line_no) as text
from candidate
group by file_id, offset_ns
qualify row_number()
    over (partition by file_id order by bool_and(is_ambiguous), count(*) desc, abs(offset_ns),
        offset_ns)
        = 1
