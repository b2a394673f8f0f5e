-- The value of a counter in a node's answer to node_status, and its growth since the answer before
-- in the same run of the daemon.
-- grain: one row a counter of an answer
-- reads: node_status, node_snapshot_counter
-- public: yes
-- note: Not to be mixed with counter_reading: here .ns and .bps are cumulative (nanoseconds,
-- note: bytes), on statistics lines they are means of 10 s. A counter that is missing in the answer
-- note: before was 0 there. Without an answer before in this run the growth is since the daemon
-- note: started.
create or replace view node_status_counter as
with every as (
    select cluster, node_id, node_role, sampled_ns, up_ns, file_id, line_no
    from node_status
    where is_answered
    qualify row_number()
        over (partition by cluster, node_id, sampled_ns order by file_id, line_no) = 1
),
answer as (
    select
        cluster, node_id, node_role, sampled_ns, up_ns, file_id, line_no,
        lag(sampled_ns) over same as last_ns,
        lag(up_ns) over same as last_up_ns,
        lag(file_id) over same as last_file_id,
        lag(line_no) over same as last_line_no
    from every
    window same as (partition by cluster, node_id order by sampled_ns)
),
placed as (
    select a.*,
        abs((a.up_ns - a.last_up_ns) - (a.sampled_ns - a.last_ns)) < 30000000000 as is_same_run
    from answer as a
),
reading as (
    select
        p.*, c.name, c.value,
        case when c.name = 'state.flags' then 'flags' when c.name like 'disk.%'
            or c.name = 'up.ns.time' then 'gauge' else 'cumulative' end
            as kind,
        case when p.is_same_run then coalesce(l.value, 0) else 0 end as last_value,
        case when p.is_same_run then p.last_ns else p.sampled_ns - p.up_ns end as previous_ns
    from placed as p
    join node_snapshot_counter as c on c.file_id = p.file_id and c.line_no = p.line_no
        and c.node_id = p.node_id
    left join node_snapshot_counter as l on l.file_id = p.last_file_id
        and l.line_no = p.last_line_no and l.node_id = p.node_id and l.name = c.name
)
select
    cluster,
    node_id,
    node_role,
    name as counter,
    kind,
    value,
    case when kind = 'cumulative' then make_timestamp_ns(previous_ns) end as previous_at,
    make_timestamp_ns(sampled_ns) as sampled_at,
    case when kind = 'cumulative'
        and previous_ns is not null
            then case when value < last_value then value else value - last_value end end
        as delta,
    kind = 'cumulative' and value < last_value as is_reset,
    file_id,
    line_no
from reading
