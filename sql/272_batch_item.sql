-- A batch request (wid) at the target that was to assemble it, from when to when: its last line
-- prints its age, and whether it waited in vain for what another target was to send.
-- grain: one row a target and request
-- reads: ais_event, xaction_bucket, threshold
-- stored: yes
create or replace view batch_item as
select
    e.cluster,
    e.node_id,
    e.wid,
    any_value(b.bucket) as bucket,
    min(e.utc_ns - e.age_ns) as began_ns,
    max(e.utc_ns) as ended_ns,
    bool_or(e.age_ns >= t.value * 1e9
        and coalesce(json_extract_string(e.capture, '$.gfn_count')::integer, 0) > 0) as is_starved,
    arg_max(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id,
    arg_max(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no
from ais_event as e
join threshold as t on t.name = 'sender_wait_s'
left join xaction_bucket as b on b.cluster = e.cluster and b.xid = e.xid
where e.wid is not null and e.age_ns > 0 and e.node_id is not null
group by e.cluster, e.node_id, e.wid
