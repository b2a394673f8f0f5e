-- A place inside a Flight Recorder dump that can be cited: a record, the counters of a group, the
-- dump itself.
-- grain: one row a dump and place
-- reads: fr_collective, fr_group, fr_dump
-- note: A dump has no lines. Where other views hold a line number, a dump has place_no: the
-- note: position of the record from 1, less than 0 for the counters of a group, 0 for the dump.
create or replace view fr_place as
select file_id, place_no, rank, locator, created_ns as utc_ns, text
from fr_collective
union all
select g.file_id, g.place_no, g.rank, g.locator, d.last_ns as utc_ns, g.text
from fr_group as g
join fr_dump as d on d.file_id = g.file_id
union all
select file_id, 0 as place_no, rank, 'dump' as locator, last_ns as utc_ns,
    'rank ' || coalesce(rank::varchar, '?') || ', ' || coalesce(entry_count, 0)::varchar
        || ' records' as text
from fr_dump
