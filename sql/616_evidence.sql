-- A line that supports or contradicts a hypothesis.
-- grain: one row a failure, hypothesis and line
-- reads: root_cause, ais_event, worker_event, worker_tail, stats_reading, counter_sample,
-- reads: stack_frame, fr_place, ingested_file, step_slowdown, step_time
-- public: yes
-- case: kept
-- note: text is the line as ingested, without colours and secrets; `aiscorr verify` reads the file
-- note: again. A line without its own time lies between event_at and latest_at. A line of
-- note: statistics is put together from its counters, which AIStore prints by name; {…} where they
-- note: were removed because they were old.
create or replace view evidence as
with cited as (
    select failure_id, place, 'supports' as kind, unnest(supports, recursive := true)
        from root_cause
    union all by name
    select failure_id, place, 'contradicts' as kind, unnest(contradicts, recursive := true)
        from root_cause
    union all by name
    select r.failure_id, r.place, 'supports' as kind, s.file_id, s.line_no,
        'a hint: ' || s.statement as why
    from root_cause as r
    join step_slowdown as s on s.failure_id = r.failure_id and s.place = 1
    where r.place = 1
        and (s.is_data_wait and r.failure_class in ('storage_io', 'data_loading_stall')
            or s.is_first and s.rank = r.rank)
),
line as (
    select failure_id, place, kind, file_id, line_no,
        coalesce(string_agg(distinct why, '; ' order by why), 'what it says') as why
    from cited
    where file_id is not null and line_no is not null
    group by failure_id, place, kind, file_id, line_no
),
worker as (
    select file_id, line_no, min(utc_ns) as utc_ns, max(latest_ns) as latest_ns, max(rank) as rank,
        any_value(text) as text
    from worker_event
    group by file_id, line_no
),
tail as (
    select file_id, line_no, any_value(rank) as rank, any_value(text) as text
    from worker_tail
    group by file_id, line_no
),
progress as (
    select file_id, line_no, any_value(rank) as rank, any_value(text) as text, min(utc_ns) as utc_ns
    from step_time
    group by file_id, line_no
),
printed as (
    select
        s.file_id,
        s.line_no,
        '{' || concat_ws(case when bool_or(starts_with(c.name, 'disk.')) then '…' else ',' end,
            string_agg(c.name || ':' || c.value, ',' order by c.name)
                filter (where c.name < 'disk.'),
            string_agg(c.name || ':' || c.value, ',' order by c.name)
                filter (where c.name > 'disk.' and not starts_with(c.name, 'disk.'))
        )
            || case when s.is_complete and not bool_or(starts_with(c.name, 'disk.')) then '}'
                else '…' end
            as text
    from stats_reading as s
    join counter_sample as c on c.file_id = s.file_id and c.line_no = s.line_no
    where exists (select 1 from line as l where l.file_id = s.file_id and l.line_no = s.line_no)
    group by s.file_id, s.line_no, s.is_complete
),
frame as (
    select file_id, line_no, any_value(rank) as rank, any_value(text) as text
    from stack_frame
    group by file_id, line_no
)
select
    l.failure_id,
    l.place,
    l.kind,
    l.why,
    f.path,
    case when r.file_id is null then l.line_no end as line_no,
    r.locator,
    make_timestamp_ns(coalesce(a.utc_ns, w.utc_ns, s.utc_ns, r.utc_ns, g.utc_ns)) as event_at,
    make_timestamp_ns(coalesce(a.utc_ns, w.latest_ns, s.utc_ns, r.utc_ns, g.utc_ns)) as latest_at,
    coalesce(a.text, w.text, t.text, k.text, r.text, g.text, p.text,
        case when s.file_id is not null then '{…}' end)
        as text,
    a.node_id,
    coalesce(w.rank, t.rank, k.rank, r.rank, g.rank) as rank,
    l.file_id
from line as l
join ingested_file as f on f.file_id = l.file_id
left join ais_event as a on a.file_id = l.file_id and a.line_no = l.line_no
left join worker as w on w.file_id = l.file_id and w.line_no = l.line_no
left join tail as t on t.file_id = l.file_id and t.line_no = l.line_no
left join frame as k on k.file_id = l.file_id and k.line_no = l.line_no
left join progress as g on g.file_id = l.file_id and g.line_no = l.line_no
left join stats_reading as s on s.file_id = l.file_id and s.line_no = l.line_no
left join printed as p on p.file_id = l.file_id and p.line_no = l.line_no
left join fr_place as r on r.file_id = l.file_id and r.place_no = l.line_no
