-- A process group as one Flight Recorder dump has it: members, and what the rank had enqueued,
-- started and completed.
-- grain: one row a dump and group
-- reads: flight_group, fr_dump
-- public: yes
-- stored: yes
-- note: group_key is the same on all members: the group's name, with its members where the name is
-- note: only a local number (PyTorch 2.2 and 2.3). place_no is what stands for a line number where
-- note: this row is cited.
create or replace view fr_group as
with placed as (
    select
        g.*, d.job_id, d.path_attempt, d.rank, d.state, d.format_version,
        json_transform(g.ranks, '["INTEGER"]') as members,
        -row_number()
            over (partition by g.file_id order by try_cast(g.pg_id as bigint) nulls last, g.pg_id,
                g.guid)
                as place_no
    from flight_group as g
    join fr_dump as d on d.file_id = g.file_id
)
select
    file_id, place_no, job_id, path_attempt, rank,
    case when format_version in ('list', '1.4') then guid || coalesce(' ' || ranks, '')
        else guid end
        as group_key,
    pg_id,
    guid,
    description,
    guid
        || case when coalesce(description, '') <> '' then '(' || description || ')' else '' end
            as process_group,
    members as ranks,
    len(members)::integer as group_size,
    last_enqueued,
    last_started,
    last_completed,
    state = 'used' and guid is not null and (format_version <> 'list' or guid = '0') as is_used,
    case when pg_id is null then 'pg_config ' || coalesce(guid, '?') else 'pg_status ' || pg_id end
        as locator,
    'rank ' || coalesce(rank::varchar, '?') || ', group '
        || coalesce(guid
            || case when coalesce(description, '') <> '' then '(' || description || ')' else '' end,
            '?')
        || ': enqueued ' || coalesce(last_enqueued::varchar, '?') || ', started '
            || coalesce(last_started::varchar, '?') || ', completed '
            || coalesce(last_completed::varchar, '?') as text
from placed
