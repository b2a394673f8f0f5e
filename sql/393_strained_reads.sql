-- Reads of AIStore that took far longer than before when a job stood still, at targets whose disks were busy or that were slow alone.
-- grain: one row a failure with such reads
-- reads: failure_lead, node_fault, counter_delta, threshold
-- case: yes
-- note: A GET lasts as long as its client takes to read, so a long mean alone accuses nobody: the disks of the target must have been at their limit since then (lines of a disk end in its utilisation), at half of the targets that served reads, or one target slow by itself, again and again (slow_reads), or once (slow_reads_once) for longer than twice what a single reader draws out (drawn_out_s) while it complained itself that its processors were overloaded. is_crawl: so slow on average (crawl_s), of objects no larger than before, that no loader fetches enough ahead. Who stands still beside such reads need not have waited for them: its own words must say that it reads.
create or replace view strained_reads as
with choked as (
    select n.fault_id
    from node_fault as n
    join node_fault as p on p.cluster = n.cluster and p.node_id = n.node_id and p.fault_kind = 'pressure' and p.witness_count >= 3 and p.started_ns <= n.ended_ns and p.ended_ns >= n.started_ns
        and regexp_matches(p.text, 'high system load|extremely high')
    where n.fault_kind = 'slow_reads_once' and n.role = 'target'
),
pressed as (
    select f.failure_id, n.cluster, n.node_id, n.fault_kind, n.started_ns, coalesce(f.spoke_ns, f.stall_ns) as until_ns, n.file_id, n.line_no
    from failure_lead as f
    join threshold as p on p.name = 'fault_slack_s'
    join threshold as w on w.name = 'window_margin_s'
    join node_fault as n on n.cluster = f.cluster and n.role = 'target' and n.started_ns <= f.stall_ns + p.value * 1e9 and n.ended_ns >= case when n.fault_kind = 'slow_reads' then f.stall_ns when n.fault_kind = 'slow_reads_once' then f.stall_ns - w.value * 1e9 else coalesce(f.spoke_ns, f.stall_ns) - 30e9 end
    where f.is_cluster_sure and (n.fault_kind = 'slow_reads' or n.fault_id in (select fault_id from choked) or (n.fault_kind = 'pressure' and regexp_matches(n.text, '^\w [0-9:.]+ [\w/-]+: .*\d%$')))
),
read as (
    select p.failure_id, d.node_id, d.utc_ns > p.started_ns as is_within, sum(d.delta) filter (where d.counter = 'get.n') as read_count, sum(d.delta) filter (where d.counter = 'get.ns.total') as took_ns, sum(d.delta) filter (where d.counter = 'get.size') as byte_count
    from (select failure_id, node_id, any_value(cluster) as cluster, min(started_ns) as started_ns, max(until_ns) as until_ns from pressed group by failure_id, node_id) as p
    join counter_delta as d on d.cluster = p.cluster and d.node_id = p.node_id and d.counter in ('get.n', 'get.ns.total', 'get.size') and d.utc_ns <= p.until_ns and d.utc_ns > p.started_ns - 600e9
    group by p.failure_id, d.node_id, is_within
),
strained as (
    select w.failure_id, w.node_id, w.read_count, w.took_ns, w.took_ns / w.read_count as mean_ns, b.took_ns / b.read_count as usual_ns, coalesce(w.byte_count / w.read_count <= 3 * b.byte_count / b.read_count, true) as is_of_size
    from read as w
    left join read as b on b.failure_id = w.failure_id and b.node_id = w.node_id and not b.is_within and b.read_count >= 3
    join threshold as s on s.name = 'strained_read_s'
    where w.is_within and w.read_count >= 3 and mean_ns >= s.value * 1e9 and (mean_ns >= 10 * usual_ns or exists (from pressed as p where p.failure_id = w.failure_id and p.node_id = w.node_id and (p.fault_kind = 'slow_reads' or (p.fault_kind = 'slow_reads_once' and w.took_ns >= 2e9 * (select value from threshold where name = 'drawn_out_s')))))
),
served as (
    select f.failure_id, count(distinct d.node_id) as target_count
    from failure_lead as f
    join counter_delta as d on d.cluster = f.cluster and d.node_role = 'target' and d.counter = 'get.n' and d.delta > 0 and d.utc_ns > f.stall_ns - 120e9 and d.previous_ns < coalesce(f.spoke_ns, f.stall_ns)
    where f.failure_id in (select failure_id from strained)
    group by f.failure_id
)
select
    t.failure_id,
    count(distinct t.node_id) as target_count,
    any_value(s.target_count) as served_count,
    case when count(distinct t.node_id) = 1 then any_value(t.node_id) end as node_id,
    sum(t.took_ns) / sum(t.read_count) >= any_value(c.value) * 1e9 and bool_and(t.is_of_size) as is_crawl,
    round(sum(t.took_ns) / sum(t.read_count) / 1e9, 1) as mean_s,
    arg_min(p.file_id, (p.started_ns, p.node_id, p.fault_kind)) as file_id,
    arg_min(p.line_no, (p.started_ns, p.node_id, p.fault_kind)) as line_no
from strained as t
join pressed as p on p.failure_id = t.failure_id and p.node_id = t.node_id
join served as s on s.failure_id = t.failure_id
join threshold as c on c.name = 'crawl_s'
group by t.failure_id
having count(distinct t.node_id) * 2 >= any_value(s.target_count) or bool_or(starts_with(p.fault_kind, 'slow_reads'))
