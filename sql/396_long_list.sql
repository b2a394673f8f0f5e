-- A rank that stood in listing a bucket while AIStore's targets walked their disks for a list, at the limit of these.
-- grain: one row a failure
-- reads: failure_lead, ais_event, node_fault, node, threshold
-- stored: yes
-- empty without: failure_lead where activity = 'storage_wait' and crash_pattern is null
-- empty without: ais_event where pattern = 'ais_running_job'
-- note: Who lists a bucket with many objects waits page by page for all targets, each of which walks its disks. The last words or the stack of the culprit must speak of a list; half of the targets or more must tell that they run one in the hang, and not before it (another's list, or an old one that idles), and those must have been under pressure for half of the hang. A rank that did not wait for it tells of something else.
create or replace view long_list as
with lister as (
    select failure_id, cluster, hang_start_ns as from_ns, spoke_ns as until_ns
    from failure_lead
    where is_cluster_sure and crash_pattern is null and spoke_ns > hang_start_ns and activity = 'storage_wait'
        and regexp_matches(activity_text, '(?i)\blist(ing)?\b[^\r\n]{0,40}://|\blist_(all_)?objects|\bListObjects|\b[Pp]age \d+ (of|/) ')
),
walk as (
    select l.failure_id, l.cluster, l.from_ns, l.until_ns, e.node_id, arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id, arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no, min(e.utc_ns) as walked_ns
    from lister as l
    join ais_event as e on e.cluster = l.cluster and e.pattern = 'ais_running_job' and e.node_role = 'target' and e.utc_ns between l.from_ns - 300e9 and l.until_ns
    where regexp_matches(split_part(e.message, '; idle', 1), '(^| )(x-)?list\[')
    group by l.failure_id, l.cluster, l.from_ns, l.until_ns, e.node_id
    having walked_ns >= l.from_ns - (select value * 1e9 from threshold where name = 'fault_slack_s')
),
pressed as (
    select w.failure_id, w.node_id, w.file_id, w.line_no, w.walked_ns
    from walk as w
    join node_fault as n on n.cluster = w.cluster and n.node_id = w.node_id and n.fault_kind = 'pressure' and n.started_ns < w.until_ns and n.ended_ns > w.from_ns
    group by w.failure_id, w.node_id, w.file_id, w.line_no, w.walked_ns, w.from_ns, w.until_ns
    having sum(least(n.ended_ns, w.until_ns) - greatest(n.started_ns, w.from_ns)) * 2 >= w.until_ns - w.from_ns
)
select
    p.failure_id,
    count(*) as target_count,
    arg_min(p.file_id, (p.walked_ns, p.node_id)) as file_id,
    arg_min(p.line_no, (p.walked_ns, p.node_id)) as line_no
from pressed as p
join failure_lead as f on f.failure_id = p.failure_id
group by p.failure_id, f.cluster
having count(*) * 2 >= (select count(*) from node as n where n.cluster = f.cluster and n.role = 'target')
