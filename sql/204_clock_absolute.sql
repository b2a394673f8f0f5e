-- A line that ties a file's clock to UTC on its own.
-- grain: one row a file and kind of evidence
-- reads: clock_mark, worker_line, worker_tail, worker_file, ais_line, threshold
-- stored: yes
-- note: Zone markers and collectors print UTC; `utm` in a redirected address is the moment the
-- note: proxy redirected the request. Worked example: a line stamped 15:57:55 names utm 23:57:51Z;
-- note: the answer came seconds later, so the file's clock is 28800 s behind UTC; up to half a
-- note: minute earlier is the proxy's clock. A line without a stamp was written before the next
-- note: stamp of its file, where that is minutes away at most; behind the last one of its file soon
-- note: after it, where no file of its job goes on for longer. beside: stamps without a zone that
-- note: follow on those with one in the same file (a program's JSON, its launcher's lines): within
-- note: minutes where they are of the zone that those name, or of UTC; where those name UTC, within
-- note: seconds, and by whole hours near UTC, as zones are: a time-out later is half an hour.
-- note: What a line with a zone holds is UTC already.
create or replace view clock_absolute as
with step as (
    select value::bigint * 1000000000 as ns from threshold where name = 'zone_step_s'
),
marks as (
    select
        m.file_id,
        m.kind,
        m.line_no,
        m.text,
        round((m.local_ns - m.utc_ns) / (select ns from step)) * (select ns from step) as offset_ns
    from clock_mark as m
    where m.utc_ns is not null and m.kind in ('utc_marker', 'wrapper', 'epoch')
),
followed as (
    select w.file_id, line_no, local_ns, zone_offset_s, stamp_source, request_ns,
        if(request_ns is not null, text, null) as text,
        first_value(case when stamp_source in ('own', 'wrapper') then local_ns end ignore nulls)
            over (partition by w.file_id order by line_no
                rows between 1 following and unbounded following)
            as next_ns,
        e.last_ns
    from worker_line as w
    left join (select file_id, max(last_ns) over (partition by job_id) as last_ns from worker_file)
        as e on e.file_id = w.file_id
    where (request_ns is not null or stamp_source in ('own', 'wrapper'))
        and w.file_id in (select file_id from worker_line where request_ns is not null)
),
redirects as (
    select
        w.file_id,
        if(w.stamp_source = 'own', 'utm', 'utm_between') as kind,
        w.line_no,
        w.text,
        floor(
            (if(w.stamp_source = 'before', coalesce(w.next_ns, w.local_ns), w.local_ns)
                - w.request_ns + 30000000000)
            / (select ns from step)
        ) * (select ns from step) as offset_ns
    from followed as w
    join threshold as t on t.name = 'stamp_reach_s'
    where w.request_ns is not null and w.zone_offset_s is null
        and (w.stamp_source in ('own', 'wrapper') or (w.stamp_source = 'before'
            and coalesce(w.next_ns, w.last_ns) - w.local_ns
                between 0 and t.value::bigint * 1000000000))
),
server_redirects as (
    select
        a.file_id,
        'utm' as kind,
        a.line_no,
        a.text,
        round((a.local_ns - w.request_ns) / (select ns from step)) * (select ns from step)
            as offset_ns
    from ais_line as a
    join worker_line as w on w.wid = a.wid and w.request_ns is not null
),
zoned as (
    select file_id, line_no, local_ns as utc_ns, zone_offset_s::bigint * 1000000000 as zone_ns
        from worker_line where stamp_source = 'own' and zone_offset_s is not null
    union all
    select file_id, line_no, local_ns, zone_offset_s::bigint * 1000000000
        from worker_tail where zone_offset_s is not null
),
mixed as (
    select w.file_id, 'beside' as kind, w.line_no, w.text,
        floor((w.local_ns - z.utc_ns + d.value * 1e9) / (select ns from step))
            * (select ns from step) as offset_ns
    from (from worker_line where stamp_source = 'own' and zone_offset_s is null
            and file_id in (select file_id from zoned)) as w
    asof join zoned as z on z.file_id = w.file_id and z.line_no <= w.line_no
    join threshold as d on d.name = 'drift_s'
    join threshold as r on r.name = 'stamp_reach_s'
    where case when offset_ns in (0, z.zone_ns) then w.local_ns - z.utc_ns - offset_ns
            < r.value * 1e9
        else z.zone_ns = 0 and w.local_ns - z.utc_ns - offset_ns < d.value * 1e9
            and (offset_ns % 3600000000000 = 0 or abs(offset_ns) >= 12600000000000) end
),
everything as (
    select file_id, kind, line_no, text, offset_ns from marks
    union all
    select file_id, kind, line_no, text, offset_ns
    from (select * from redirects union all select * from server_redirects
        union all select * from mixed)
    where abs(offset_ns) <= (select value * 1000000000 from threshold where name = 'zone_span_s')
),
counted as (
    select file_id, kind, offset_ns::bigint as offset_ns, count(*) as vote_count,
        min(line_no) as line_no, arg_min(text, line_no) as text
    from everything
    group by file_id, kind, offset_ns
)
select
    file_id,
    kind,
    offset_ns,
    vote_count,
    line_no,
    text
from counted
qualify row_number()
    over (partition by file_id, kind order by vote_count desc, abs(offset_ns), offset_ns) = 1
