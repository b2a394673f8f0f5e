-- How the times of a file became UTC.
-- grain: one row an ingested log
-- reads: ingested_file, ais_file, clock_ais, clock_worker, clock_cluster, clock_drift
-- public: yes
-- stored: yes
-- note: offset_s is what was subtracted: seconds east of UTC, plus whole days where the file had no
-- note: date, plus seconds by which an AIStore node was measured to be off. A Flight Recorder dump
-- note: counts nanoseconds since 1970; the record of a pull states UTC, a saved node_status states
-- note: no time.
create or replace view clock as
with every as (
    select
        a.file_id,
        a.shift_ns + coalesce(d.drift_ns, 0) + coalesce(z.zone_s * 1000000000, 0) as shift_ns,
        a.zone_offset_s + coalesce(z.zone_s, 0) as zone_offset_s,
        case when z.cluster is not null then 'anchor' else a.method end as method,
        coalesce(z.confidence, a.confidence) as confidence,
        case when z.cluster is null then a.line_no end as line_no, coalesce(z.text, a.text) as text,
        null::bigint as against_ns
    from clock_ais as a
    left join ais_file as f on f.file_id = a.file_id
    left join clock_cluster as z on z.cluster = f.cluster
    left join clock_drift as d on d.file_id = a.file_id
    union all
    select file_id, shift_ns, zone_offset_s, method, confidence, line_no, text, against_ns
        from clock_worker
)
select
    f.file_id,
    f.path,
    f.kind,
    f.zone as timezone,
    coalesce(e.shift_ns, 0) as shift_ns,
    (coalesce(e.shift_ns, 0) / 1000000000)::bigint as offset_s,
    coalesce(e.zone_offset_s, 0) as zone_offset_s,
    coalesce(e.method, case
        when f.kind = 'flight_recorder'
            or (f.kind = 'node_status' and f.date_method = 'stamp') then 'utc_marker'
        when f.kind = 'node_status' then 'mtime'
        else 'assumed'
    end) as method,
    round(
        coalesce(e.confidence,
            case when f.kind = 'flight_recorder'
                or (f.kind = 'node_status' and f.date_method = 'stamp') then 1.0
                else 0.5 end)::double,
        2)
        as confidence,
    (e.against_ns / 1000000000)::bigint as against_s,
    e.line_no,
    e.text as evidence
from ingested_file as f
left join every as e on e.file_id = f.file_id
where f.state = 'ingested' and f.kind <> 'unknown'
