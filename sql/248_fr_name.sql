-- What a Flight Recorder dump says of a process group: its name, its members and its counters.
-- grain: one row a dump and group
-- reads: flight_group, flight_dump
-- note: group_key is the same on all members: the group's name, with its members where the name is
-- note: only a local number (PyTorch 2.2 and 2.3). In the plain list of PyTorch 2.2 only the
-- note: default group can be compared.
create or replace view fr_name as
select
    g.file_id, g.pg_id, g.guid,
    case when d.format_version in ('list', '1.4') then g.guid || coalesce(' ' || g.ranks, '')
        else g.guid end
        as group_key,
    g.description,
    g.guid || case when g.description <> '' then '(' || g.description || ')' else '' end
        as process_group,
    json_transform(g.ranks, '["INTEGER"]') as ranks,
    g.last_enqueued, g.last_started, g.last_completed,
    g.guid is not null and (d.format_version <> 'list' or g.guid = '0') as is_comparable
from flight_group as g
left join flight_dump as d on d.file_id = g.file_id
