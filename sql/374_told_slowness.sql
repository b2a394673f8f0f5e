-- Reads that the loaders of a cancelled job called slow, and the one target that nearly all of them name.
-- grain: one row a failure whose loaders said so
-- reads: failed_attempt, failure_case, job_cluster, worker_event, node_endpoint, node, threshold
-- case: yes
-- note: Who reads slowly by itself calls all targets slow; who calls one of three or more slow, when it reads one object after another (told_reads), tells of that one. Addresses are compared by their hosts, as a daemon listens at several ports; a host of two daemons tells nothing. node_id is null where none is named in told_share of the lines that name an address.
create or replace view told_slowness as
with home as (
    select cluster, regexp_replace(endpoint, ':\d+$', '') as host, any_value(node_id) as node_id
    from node_endpoint
    group by cluster, host
    having count(distinct node_id) = 1
),
told as (
    select f.failure_id, c.cluster, e.utc_ns, e.wait_s, e.url, regexp_replace(e.endpoint, ':\d+$', '') as host, e.file_id, e.line_no
    from failure_case as f
    join failed_attempt as a on a.job_id = f.job_id and a.attempt = f.attempt and a.is_cancelled
    join worker_event as e on e.job_id = f.job_id and e.attempt = f.attempt and starts_with(e.pattern, 'app_slow_') and e.utc_ns <= f.stall_ns
    join threshold as k on k.name = 'cluster_sure'
    left join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt and c.certainty >= k.value
),
named as (
    select
        t.failure_id, t.host, h.node_id, n.role, count(*) as told_count, count(distinct t.url) as object_count,
        sum(count(*)) over (partition by t.failure_id) as named_count,
        arg_min(t.file_id, (t.utc_ns, t.file_id, t.line_no)) as file_id, arg_min(t.line_no, (t.utc_ns, t.file_id, t.line_no)) as line_no
    from told as t
    left join home as h on h.cluster = t.cluster and h.host = t.host
    left join node as n on n.cluster = t.cluster and n.node_id = h.node_id
    where t.host is not null
    group by t.failure_id, t.host, h.node_id, n.role
),
most as (
    select m.*, l.value as least_count
    from named as m
    join threshold as s on s.name = 'told_share'
    join threshold as l on l.name = 'told_reads'
    where m.told_count >= s.value * m.named_count
)
select
    t.failure_id,
    any_value(t.cluster) as cluster,
    count(*) as told_count,
    avg(t.wait_s) as mean_s,
    min(t.utc_ns) as first_ns,
    max(t.utc_ns) as last_ns,
    any_value(m.host) as host,
    case when any_value(m.role) = 'target' and any_value(m.object_count) >= any_value(m.least_count) and (select count(*) from node as o where o.cluster = any_value(t.cluster) and o.role = 'target') >= 3 then any_value(m.node_id) end as node_id,
    any_value(m.told_count) as named_count,
    coalesce(any_value(m.file_id), arg_min(t.file_id, (t.utc_ns, t.file_id, t.line_no))) as file_id,
    coalesce(any_value(m.line_no), arg_min(t.line_no, (t.utc_ns, t.file_id, t.line_no))) as line_no
from told as t
left join most as m on m.failure_id = t.failure_id
group by t.failure_id
