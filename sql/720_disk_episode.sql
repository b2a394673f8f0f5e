-- A span in which a mountpath of an AIStore node was faulted or disabled.
-- grain: one row a mountpath of a node and span
-- reads: ais_event
-- stored: yes
-- note: A span ends when a line reports the mountpath enabled again, which is when it ended at the
-- note: latest; without such a line its end is not known.
create or replace view disk_episode as
with sign as (
    select
        cluster, node_id, mountpath, utc_ns, file_id, line_no, text, node_effect,
        count(*) filter (where node_effect = 'mountpath_enabled') over (
            partition by cluster, node_id, mountpath order by utc_ns, file_id, line_no
            rows between unbounded preceding and 1 preceding
        ) as span_no
    from ais_event
    where mountpath is not null and node_id is not null
        and node_effect in ('mountpath_disabled', 'disk_fault', 'disk_stuck', 'mountpath_enabled')
)
select
    cluster, node_id, mountpath,
    case
        when bool_or(node_effect = 'mountpath_disabled') then 'disabled'
        when bool_or(node_effect = 'disk_fault') then 'faulted'
        else 'stuck'
    end as state,
    min(utc_ns) filter (where node_effect <> 'mountpath_enabled') as begin_ns,
    max(utc_ns) filter (where node_effect <> 'mountpath_enabled') as last_sign_ns,
    max(utc_ns) filter (where node_effect = 'mountpath_enabled') as end_ns,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_min(text, (utc_ns, file_id, line_no)) as text
from sign
group by cluster, node_id, mountpath, span_no
having bool_or(node_effect <> 'mountpath_enabled')
