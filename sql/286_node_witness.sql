-- A line that says something about the state of an AIStore node, on its own or by a peer.
-- grain: one row a line and the node it is about
-- reads: ais_event, node_endpoint, node_process, node, threshold
-- stored: yes
-- note: A peer named only by an address is looked up. An error that a node got back from one it had
-- note: called (`called by` itself) says nothing of its own state. A kill leaves no line on the
-- note: node: the end of its last line before the next start stands for it.
create or replace view node_witness as
with stated as (
    select
        e.cluster,
        case
            when e.subject = 'self' then e.node_id
            else coalesce(e.peer_node_id, n.node_id)
        end as node_id,
        e.node_effect as effect,
        e.node_id as witness_id,
        e.utc_ns, e.age_ns, e.file_id, e.line_no, e.text, e.pattern
    from ais_event as e
    left join node_endpoint as n on n.cluster = e.cluster and n.endpoint = e.endpoint
    where e.node_effect is not null
        and not (e.subject = 'self'
            and regexp_extract(e.text, '\(called by [pt]\[([^\]]+)\]\)', 1) = e.node_id)
),
broken as (
    select
        e.cluster,
        coalesce(e.peer_node_id, n.node_id) as node_id,
        'cut' as effect,
        e.node_id as witness_id,
        e.utc_ns, e.file_id, e.line_no, e.text, e.pattern
    from ais_event as e
    left join node_endpoint as n on n.cluster = e.cluster and n.endpoint = e.endpoint
    where e.node_effect is null
        and e.chain_step in ('stream_break', 'reconnect', 'client_error', 'abort_notice')
        and e.severity in ('W', 'E')
        and e.role in ('symptom', 'consequence', 'retry', 'cause')
            and regexp_extract(e.text, '\(called by [pt]\[([^\]]+)\]\)', 1)
                is distinct from e.peer_node_id
),
strange as (
    select
        cluster, node_id, 'unknown_error' as effect, node_id as witness_id, utc_ns, file_id,
        line_no, text, pattern,
        regexp_replace(substr(message, 1, 80), '\[[^\]]*\]|"[^"]*"|[0-9]+|/[^ ]*', '', 'g') as words
    from ais_event
    where pattern in ('other_error', 'other_warning') and node_id is not null
        and not regexp_matches(text,
            '(?i)token|permi(t|ssion)|authori[sz]|access denied|does not exist|not found|broken '
                'pipe|reset by peer|client gone|context canceled|bad request|invalid')
    qualify count(*) over (partition by cluster, words) < 3
        or max(utc_ns) over (partition by cluster, words) - min(utc_ns)
            over (partition by cluster, words)
                <= (select value * 1000000000 from threshold where name = 'usual_line_s')
),
killed as (
    select
        p.cluster, p.node_id, 'killed' as effect, p.node_id as witness_id, p.alive_ns as utc_ns,
        coalesce(e.file_id, p.file_id) as file_id, coalesce(e.line_no, p.line_no) as line_no,
            e.text, 'node_process' as pattern
    from node_process as p
    left join ais_event as e on e.cluster = p.cluster and e.node_id = p.node_id
        and e.utc_ns = p.next_ns and e.pattern = 'ais_process_started'
    where p.end_reason = 'killed'
)
select
    w.cluster,
    w.node_id,
    w.effect,
    w.witness_id,
    w.utc_ns,
    w.age_ns,
    w.file_id,
    w.line_no,
    w.text,
    w.pattern
from (
    select * from stated
    union all by name
    select * from broken
    union all by name
    select * exclude (words) from strange
    union all by name
    select * from killed
) as w
join node as n on n.cluster = w.cluster and n.node_id = w.node_id
where w.node_id is not null
