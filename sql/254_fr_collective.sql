-- A record of a Flight Recorder dump: a collective, send or receive of a rank.
-- grain: one row a record
-- reads: flight_collective, fr_dump, fr_name
-- public: yes
-- note: is_finished: completed, or with gloo retired (its state stays at scheduled); a part of a
-- note: coalesced call is when the record that closes the call is, its own state is never updated.
-- note: peer_rank is the global rank of the other side of a send or receive, mapped through the
-- note: members of the group.
create or replace view fr_collective as
with closing as (
    select
        file_id, pg_id, is_p2p, case when is_p2p then p2p_seq_num else seq_num end as seq_num,
        max(entry_no) as entry_no,
        bool_and(state = 'completed' or (is_retired and backend = 'gloo')) as is_finished
    from flight_collective
    where operation = 'coalesced' or ends_with(operation, '_coalesced')
    group by all
)
select
    c.file_id,
    c.entry_no as place_no,
    d.job_id,
    d.path_attempt,
    d.rank,
    d.state = 'used' and g.is_comparable as is_used,
    g.group_key,
    c.guid,
    g.process_group,
    c.entry_no,
    c.record_id,
    c.seq_num,
    c.p2p_seq_num,
    c.op_id,
    c.backend,
    c.operation,
    case when starts_with(c.operation, '_') then upper(c.operation)
        else upper(replace(c.operation, '_', '')) end
        as op_type,
    c.is_p2p,
    g.ranks[c.peer_group_rank + 1] as peer_rank,
    c.input_sizes,
    c.output_sizes,
    c.input_dtypes,
    c.output_dtypes,
    c.numel_in,
    c.numel_out,
    c.state,
    c.is_retired,
    coalesce(k.is_finished, c.state = 'completed' or (c.is_retired and c.backend = 'gloo'), false)
        as is_finished,
    make_timestamp_ns(c.created_ns) as created_at,
    make_timestamp_ns(c.started_ns) as started_at,
    make_timestamp_ns(c.completed_ns) as completed_at,
    c.created_ns,
    c.duration_ms,
    round((c.completed_ns - c.created_ns) / 1e9, 3) as seen_for_s,
    c.timeout_ms,
    c.user_location,
    c.stack,
    coalesce('record_id=' || c.record_id::varchar, 'entry=' || c.entry_no::varchar) as locator,
    'rank ' || coalesce(d.rank::varchar, '?') || ', ' || coalesce(c.operation, 'operation')
        || ' number '
        || coalesce(case when c.is_p2p then c.p2p_seq_num else c.seq_num end::varchar, '?')
        || ' in ' || coalesce(g.process_group, c.guid)
        || coalesce(', ' || c.input_sizes, '') || coalesce(' ' || c.input_dtypes, '')
            || coalesce(', ' || c.state, '') || coalesce(', at ' || c.user_location, '') as text
from flight_collective as c
join fr_dump as d on d.file_id = c.file_id
left join closing as k on k.file_id = c.file_id and k.pg_id is not distinct from c.pg_id
    and k.is_p2p = c.is_p2p and k.seq_num = case when c.is_p2p then c.p2p_seq_num else c.seq_num end
    and c.entry_no <= k.entry_no
left join fr_name as g on g.file_id = c.file_id
    and g.pg_id is not distinct from coalesce(c.pg_id, c.guid)
