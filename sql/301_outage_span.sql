-- Signs of one outage of an AIStore node taken together: what peers saw and what its own log shows,
-- close in time.
-- grain: one row an outage of a node
-- reads: node_witness, isolated_node, threshold
-- stored: yes
-- note: What a node says of any peer that is itself cut off (isolated_node) is no sign of theirs.
-- note: A target that leaves the map since it lost its last mountpath has a disk fault: it runs on.
-- note: Signs up to outage_gap_s apart are of one outage, but a node that was ready meanwhile and
-- note: ended again by its own log, or is missed notice_s later or more, had another, and so had
-- note: one that was added back and is removed
-- note: from the map again, kalive_detect_s later or more.
create or replace view outage_span as
with lived as (
    select cluster, node_id, effect, witness_id, utc_ns, file_id, line_no, text,
        count(*) filter (where effect = 'ready' and witness_id = node_id)
            over (partition by cluster, node_id order by utc_ns) as life_no,
        max(utc_ns) filter (where effect = 'ready' and witness_id = node_id)
            over (partition by cluster, node_id order by utc_ns) as ready_ns,
        max(utc_ns) filter (where effect = 'back' and witness_id <> node_id)
            over (partition by cluster, node_id order by utc_ns) as back_ns
    from node_witness as w
    where effect
        in ('killed', 'stopping', 'stopped', 'fatal', 'panic', 'down', 'unreachable', 'removed',
            'cut', 'maintenance', 'ready', 'back')
        and not (effect in ('cut', 'unreachable', 'down')
            and exists (select 1 from isolated_node as i
                where i.cluster = w.cluster and i.node_id = w.witness_id
                    and w.utc_ns between i.started_ns and i.ended_ns))
        and not ((effect = 'removed' or pattern = 'ais_self_removal')
            and exists (from node_witness as d
                join threshold as t on t.name = 'fault_slack_s'
                where d.pattern = 'ais_last_mountpath_lost'
                    and d.cluster = w.cluster and d.node_id = w.node_id
                    and abs(w.utc_ns - d.utc_ns) <= t.value * 1000000000))
),
marked as (
    select
        *,
        utc_ns - lag(utc_ns) over next_sign as gap_ns,
        (is_end or effect in ('down', 'unreachable') and least(utc_ns - ready_ns, gap_ns)
            > (select value * 1000000000 from threshold where name = 'notice_s'))
            and life_no > coalesce(max(life_no) filter (where is_end) over (next_sign
                rows between unbounded preceding and 1 preceding), if(is_end, null, 0))
            or back_ns > lag(utc_ns) over next_sign
                and max(utc_ns) filter (where effect = 'removed')
                    over (partition by cluster, node_id, back_ns
                        order by utc_ns range
                            between current row
                                and (select (value * 1000000000)::bigint from threshold
                                    where name = 'outage_gap_s') following)
                >= back_ns
                    + (select value * 1000000000 from threshold where name = 'kalive_detect_s')
                    as is_next_life
    from (select *, effect in ('killed', 'stopping', 'fatal', 'panic')
        and witness_id = node_id as is_end
        from lived)
    where effect not in ('ready', 'back')
    window next_sign as (partition by cluster, node_id order by utc_ns)
),
numbered as (
    select *,
        sum(
            case when gap_ns is null or coalesce(is_next_life, false)
                or gap_ns > (select value * 1000000000 from threshold where name = 'outage_gap_s')
                    then 1
                else 0 end)
        over (partition by cluster, node_id order by utc_ns) as outage_no
    from marked
)
select
    cluster, node_id, outage_no,
    min(utc_ns) as first_ns,
    max(utc_ns) as last_ns,
    list_sort(list(distinct effect)) as effects,
    count(*) filter (where effect in ('down', 'unreachable', 'removed')) as missed_count,
    count(distinct witness_id)
        filter (where witness_id <> node_id and effect <> 'cut') as witness_count,
    count(distinct witness_id) filter (where witness_id <> node_id) as cut_count,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_min(text, (utc_ns, file_id, line_no)) as text,
    min(utc_ns) filter (where effect in ('down', 'unreachable', 'cut', 'removed')) as seen_ns,
    min(utc_ns)
        filter (
            where effect = 'cut' and regexp_matches(text, 'EOF|refused|reset by peer|broken pipe'))
            as broke_ns
from numbered
group by cluster, node_id, outage_no
