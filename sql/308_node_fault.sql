-- A span of time in which something was wrong with an AIStore node, whatever it was.
-- grain: one row a fault of a node
-- reads: node_outage, isolated_node, node_trouble, slow_answer, slow_target, slow_source,
-- reads: node_standstill, stale_membership, node, fault_kind
-- public: yes
-- stored: yes
-- note: weight says how much a fault of this kind explains a client that waits or fails: 1 = a node
-- note: that is gone, 0 = housekeeping. moment_words: what to say of its begin where started_at is
-- note: only the earliest moment that fits, else null. ended_at is null where no line shows it;
-- note: ended_ns is until when it is taken to have lasted. A standstill is told where the node was
-- note: not away then for another reason.
create or replace view node_fault as
with every as (
    select cluster, node_id, fault_kind, started_ns, ended_ns, shown_end_ns, last_sign_ns,
        case when fault_kind = 'killed' then started_ns else first_ns end as sign_ns, witness_count,
        cut_count, file_id, line_no, text,
        known_ns, silent_from_ns, silent_to_ns, silence_file_id, silence_line_no
    from node_outage
    union all by name
    select cluster, node_id, fault_kind, started_ns, ended_ns, shown_end_ns, last_sign_ns,
        sign_count as witness_count, file_id, line_no, text, mountpaths as detail
    from node_trouble
    union all by name
    select cluster, node_id, 'isolated' as fault_kind, started_ns,
        ended_ns + 20000000000 as ended_ns, ended_ns as last_sign_ns, peer_count as witness_count,
        file_id, line_no, text
    from isolated_node
    union all by name
    select cluster, node_id, 'stale_membership' as fault_kind, started_ns, ended_ns,
        sender_count as witness_count, file_id, line_no, text, false as is_dated
    from stale_membership
    union all by name
    select cluster, node_id,
        case when is_everywhere then 'backend_slow' else 'backend' end as fault_kind, started_ns,
        ended_ns, known_ns as sign_ns, read_count as witness_count, file_id, line_no, text,
        known_ns, text as detail, false as is_dated
    from slow_source
    union all by name
    select cluster, node_id,
        case when is_lasting then 'slow_reads' else 'slow_reads_once' end as fault_kind, started_ns,
        ended_ns, known_ns as sign_ns, read_count as witness_count, file_id, line_no, text,
        known_ns, text as detail, false as is_dated
    from slow_target
    union all by name
    select cluster, node_id, 'slow_answers' as fault_kind, started_ns, ended_ns,
        sign_count as witness_count, file_id, line_no, text, text as detail,
        false as is_dated
    from slow_answer
    union all by name
    select s.cluster, s.node_id, 'hung' as fault_kind, s.started_ns, s.ended_ns,
        s.ended_ns as shown_end_ns, s.known_ns as sign_ns, 1 as witness_count, s.file_id, s.line_no,
        s.text, s.known_ns, s.text as detail
    from node_standstill as s
    anti join node_outage as o on o.cluster = s.cluster and o.node_id = s.node_id
        and o.started_ns <= s.ended_ns and o.ended_ns >= s.started_ns
),
worded as (
    select
        *,
        strftime(make_timestamp_ns(started_ns)::timestamp, '%H:%M:%S') as started_words,
        case
            when known_ns - started_ns >= 43200000000000
                then strftime(make_timestamp_ns(known_ns)::timestamp, '%Y-%m-%d ')
            else '' end
            || strftime(make_timestamp_ns(known_ns)::timestamp, '%H:%M:%S') as known_words,
        strftime(make_timestamp_ns(silent_from_ns)::timestamp, '%H:%M:%S') || '–'
            || strftime(make_timestamp_ns(silent_to_ns)::timestamp, '%H:%M:%S') as silence_words
    from (select * replace (coalesce(known_ns, started_ns) as known_ns,
        coalesce(sign_ns, started_ns) as sign_ns) from every)
)
select
    e.cluster || '/' || e.node_id || '/' || e.fault_kind || '/'
        || strftime(make_timestamp_ns(e.started_ns)::timestamp, '%m%dT%H%M%S') as fault_id,
    e.cluster,
    e.node_id,
    n.role,
    e.fault_kind,
    make_timestamp_ns(e.started_ns) as started_at,
    make_timestamp_ns(e.shown_end_ns) as ended_at,
    make_timestamp_ns(coalesce(e.last_sign_ns, e.ended_ns)) as last_sign_at,
    coalesce(k.weight, 0.0) as weight,
    e.started_ns,
    e.ended_ns,
    e.sign_ns,
    e.witness_count,
    coalesce(e.cut_count, 0) as cut_count,
    e.file_id,
    e.line_no,
    e.text,
    e.known_ns,
    case
        when e.known_ns - e.started_ns < 1000000000 then null
        when e.fault_kind = 'killed' then 'between ' || e.started_words || ' and ' || e.known_words
            || ' UTC'
        else 'no later than ' || e.known_words || ' UTC'
            || coalesce(' (its log is silent ' || e.silence_words || ')', '')
    end as moment_words,
    moment_words is null and coalesce(e.is_dated, true) as is_dated,
    e.detail,
    e.silence_words,
    e.silence_file_id,
    e.silence_line_no
from worded as e
left join node as n on n.cluster = e.cluster and n.node_id = e.node_id
left join fault_kind as k on k.fault_kind = e.fault_kind
