-- A process group as one Flight Recorder dump has it: members, and what the rank had enqueued,
-- started and completed.
-- grain: one row a dump and group
-- reads: fr_name, fr_dump
-- public: yes
-- stored: yes
-- note: group_key is the same on all members. place_no is what stands for a line number where this
-- note: row is cited.
create or replace view fr_group as
select
    n.file_id,
    -row_number()
        over (partition by n.file_id
            order by try_cast(n.pg_id as bigint) nulls last, n.pg_id, n.guid)
        as place_no,
    d.job_id, d.path_attempt, d.rank, n.group_key, n.pg_id, n.guid, n.description, n.process_group,
    n.ranks,
    len(n.ranks)::integer as group_size,
    n.last_enqueued,
    n.last_started,
    n.last_completed,
    d.state = 'used' and n.is_comparable as is_used,
    case when n.pg_id is null then 'pg_config ' || coalesce(n.guid, '?')
        else 'pg_status ' || n.pg_id end
        as locator,
    'rank ' || coalesce(d.rank::varchar, '?') || ', group ' || coalesce(n.process_group, '?')
        || ': enqueued ' || coalesce(n.last_enqueued::varchar, '?') || ', started '
            || coalesce(n.last_started::varchar, '?') || ', completed '
            || coalesce(n.last_completed::varchar, '?') as text
from fr_name as n
join fr_dump as d on d.file_id = n.file_id
