-- A span in which an AIStore node was away: killed, stopped, hung, cut off or removed from the
-- cluster map.
-- grain: one row an outage of a node
-- reads: outage_span, ais_event, stats_reading, threshold
-- stored: yes
-- note: What peers saw and what the node's own log shows are one outage where they lie within
-- note: minutes. It ends with the node's own word that it is ready, before its next outage, else
-- note: when it joins the map; shown_end_ns is null where no line shows that. A node off the map is
-- note: away for stopped_open_s after the cluster's logs end.
create or replace view node_outage as
with comeback as (
    select e.cluster,
        case when e.subject = 'peer' then e.peer_node_id else e.node_id end as node_id, e.utc_ns,
        e.node_effect = 'joined' as is_joining
    from ais_event as e
    where e.node_effect in ('ready', 'back', 'joined')
        and e.pattern not in ('ais_shared_dm_reconnected')
),
ended as (
    select
        s.cluster, s.node_id, s.outage_no,
        min(c.utc_ns) filter (where not c.is_joining) as back_ns,
        min(c.utc_ns) filter (where c.is_joining) as joined_ns,
        list_contains(s.effects, 'maintenance')
            and not list_has_any(s.effects, ['killed', 'stopping', 'stopped', 'fatal', 'panic'])
                as is_kept,
        min(e.utc_ns) as moved_ns
    from (
        select *, lead(first_ns)
            over (partition by cluster, node_id order by first_ns, outage_no) as later_ns
        from outage_span
    ) as s
    left join comeback as c on c.cluster = s.cluster and c.node_id = s.node_id
        and c.utc_ns > s.first_ns and (s.later_ns is null or c.utc_ns <= s.later_ns)
    left join ais_event as e on e.cluster = s.cluster and e.pattern = 'ais_rebalance_done_cluster'
        and e.utc_ns > s.first_ns
    group by s.cluster, s.node_id, s.outage_no, s.effects
),
line as (
    select cluster, node_id, utc_ns, file_id, line_no, true as is_event from ais_event
    union all
    select cluster, node_id, utc_ns, file_id, line_no, false from stats_reading
),
own as (
    select s.cluster, s.node_id, s.outage_no,
        max(e.utc_ns) filter (where e.utc_ns <= s.seen_ns) as before_ns,
        min(e.utc_ns) filter (where e.utc_ns > s.seen_ns) as after_ns,
        min(e.utc_ns) filter (where e.utc_ns > s.last_ns and s.seen_ns is not null) as over_ns,
        max(e.utc_ns - e.before_ns) filter (where e.utc_ns > s.seen_ns and e.before_ns <= s.last_ns)
            as silent_ns,
        min(e.utc_ns) filter (where e.utc_ns > s.last_ns + 30000000000) as resumed_ns,
        min(e.utc_ns) filter (where e.utc_ns > s.first_ns) as next_ns, max(e.utc_ns) as end_ns,
        arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no))
            filter (where e.utc_ns > s.seen_ns) as after_file_id,
        arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no))
            filter (where e.utc_ns > s.seen_ns) as after_line_no
    from outage_span as s
    left join (
        select *, lag(utc_ns) over (partition by cluster, node_id order by utc_ns) as before_ns
        from line semi join outage_span using (cluster, node_id)
    ) as e on e.cluster = s.cluster and e.node_id = s.node_id
    group by s.cluster, s.node_id, s.outage_no
),
logs as (
    select cluster, max(utc_ns) as last_ns, max(utc_ns) filter (where is_event) as event_ns
        from line group by cluster
),
span as (
    select
        s.cluster, s.node_id, s.outage_no::integer as outage_no,
        case
            when list_contains(s.effects, 'killed') then 'killed'
            when list_contains(s.effects, 'fatal')
                or list_contains(s.effects, 'panic') then 'crashed'
            when list_contains(s.effects, 'stopping')
                or list_contains(s.effects, 'stopped') then 'stopped'
            when list_contains(s.effects, 'maintenance') then 'maintenance'
            when not list_contains(s.effects, 'removed')
                and (
                    (s.missed_count < 2
                        and o.after_ns
                            - s.seen_ns
                                < (select value * 1000000000 from threshold
                                    where name = 'cut_return_s'))
                    or (s.witness_count < 2
                        and o.silent_ns
                            < (select value * 1000000000 from threshold
                                where name = 'kalive_detect_s')))
                    then 'cut'
            when list_contains(s.effects, 'unreachable')
                and not list_contains(s.effects, 'down') then 'hung'
            when list_contains(s.effects, 'down') or list_contains(s.effects, 'removed') then 'down'
            else 'cut'
        end as fault_kind,
        case
            when list_contains(s.effects, 'killed') and s.seen_ns is not null
                then case when s.broke_ns is not null then s.seen_ns
                    else greatest(s.first_ns,
                        s.seen_ns
                            - (select value * 1000000000 from threshold
                                where name = 'kalive_detect_s'))::bigint end
            when s.broke_ns <= s.first_ns + 1000000000 then s.first_ns
            when list_has_any(s.effects, ['unreachable', 'down'])
                and not list_has_any(s.effects,
                    ['stopping', 'stopped', 'fatal', 'panic', 'maintenance'])
                then greatest(coalesce(o.before_ns, 0),
                    s.first_ns
                        - (select value * 1000000000 from threshold
                            where name = 'kalive_detect_s'))::bigint
            else s.first_ns
        end as started_ns,
        greatest(coalesce(
            case
                when list_contains(s.effects, 'killed') and s.seen_ns is null
                    and o.next_ns is not null
                    then least(e.back_ns,
                        o.next_ns
                            + (select value::bigint * 1000000000 from threshold
                                where name = 'kalive_detect_s'))
                else e.back_ns
            end,
            case when e.is_kept then coalesce(e.moved_ns, l.last_ns) end,
            case when list_contains(s.effects, 'removed')
                and list_has_any(s.effects, ['stopping', 'stopped', 'fatal', 'panic'])
                    then o.resumed_ns
                when not list_contains(s.effects, 'killed') then o.over_ns end,
            e.joined_ns,
            greatest(
                case when list_contains(s.effects, 'removed')
                    then l.last_ns + (select value::bigint * 1000000000 from threshold
                        where name = 'stopped_open_s')
                    when o.before_ns is not null
                    and list_has_any(s.effects, ['down', 'unreachable']) then l.event_ns end,
                case when list_has_any(s.effects, ['stopping', 'stopped', 'fatal', 'panic'])
                    and o.end_ns <= s.last_ns + 30000000000
                        then s.last_ns
                            + (select value::bigint * 1000000000 from threshold
                                where name = 'stopped_open_s') end),
            s.last_ns
        ), s.first_ns) as ended_ns,
        coalesce(e.back_ns, if(e.is_kept, e.moved_ns, null),
            case when list_contains(s.effects, 'removed') then null
                when not list_contains(s.effects, 'killed') then o.over_ns end,
            e.joined_ns) as shown_end_ns,
        s.first_ns, s.last_ns as last_sign_ns, s.seen_ns, s.witness_count, s.cut_count, s.effects,
        s.file_id, s.line_no, s.text,
        o.before_ns, o.after_ns, o.next_ns, o.after_file_id, o.after_line_no
    from outage_span as s
    left join ended as e on e.cluster = s.cluster and e.node_id = s.node_id
        and e.outage_no = s.outage_no
    left join own as o on o.cluster = s.cluster and o.node_id = s.node_id
        and o.outage_no = s.outage_no
    left join logs as l on l.cluster = s.cluster
)
select
    cluster, node_id, outage_no, fault_kind, started_ns, ended_ns, shown_end_ns, first_ns,
    last_sign_ns, seen_ns,
    witness_count, cut_count, effects, file_id, line_no, text,
    case when fault_kind <> 'killed' then greatest(first_ns, started_ns)
        else coalesce(seen_ns, next_ns, first_ns) end
        as known_ns,
    case when is_silent then before_ns end as silent_from_ns,
    case when is_silent then after_ns end as silent_to_ns,
    case when is_silent then after_file_id end as silence_file_id,
    case when is_silent then after_line_no end as silence_line_no
from (select *, fault_kind <> 'killed' and first_ns > started_ns and before_ns is not null
    and after_ns is not null as is_silent
    from span)
