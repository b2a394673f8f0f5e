-- What tells of the one target, or the remote backend, that a cancelled job crawled for: reads that slowed or began to be cold with its steps, or what its loaders say.
-- grain: one row a failure and sign (place: 5 one target slow alone, 6 cold reads that began with the slow steps, 7 a target that the loaders call slow, 9 a target that its peers lost)
-- reads: crawl_growth, lone_target, told_slowness, step_slowdown, node_fault, threshold
-- case: yes
-- note: A target that its peers lost when the steps slowed, and had not found again by the middle of the slow time, held up each batch with an entry of it. Reads from a remote backend are no drawn-out ones: no client makes them longer. Those of a second or more (strained_read_s) that nobody had made before count where one at least was under way at any moment, they are nearly all that their targets served, and the job waited for its data by its own words. A target that loaders call slow must have had a trouble of its own from that moment on, however light, or have served reads ten times as slowly as every other.
create or replace view crawl_sign as
with cold as (
    select
        failure_id, sum(cold_count) as cold_count, sum(cold_ns) as cold_ns, sum(served_ns) as served_ns, bool_and(is_told) as is_told, any_value(until_ns - since_ns) as span_ns,
        count(*) as target_count, any_value(node_id) as node_id, arg_max(file_id, (cold_ns, node_id)) as file_id, arg_max(line_no, (cold_ns, node_id)) as line_no
    from crawl_growth
    where not is_before and cold_count > 0 and failure_id not in (select failure_id from crawl_growth where is_before and cold_count > 0)
    group by failure_id
),
mean as (
    select failure_id, node_id, greatest(coalesce(cold_ns / nullif(cold_count, 0), 0), coalesce(plain_ns / nullif(plain_count, 0), 0)) as mean_ns
    from crawl_growth
    where not is_before
),
troubled as (
    select t.failure_id
    from told_slowness as t
    join step_slowdown as s on s.failure_id = t.failure_id and s.place = 1
    join node_fault as n on n.cluster = t.cluster and n.node_id = t.node_id and n.weight > 0 and n.started_ns between s.until_ns - 60000000000 and s.since_ns + 60000000000
    union
    select m.failure_id
    from mean as m
    join told_slowness as t on t.failure_id = m.failure_id and t.node_id = m.node_id
    join threshold as s on s.name = 'strained_read_s'
    where m.mean_ns >= s.value * 1e9 and m.mean_ns >= 10 * (select max(o.mean_ns) from mean as o where o.failure_id = m.failure_id and o.node_id <> m.node_id)
)
select failure_id, 5 as place, 'slow_target' as crawl, node_id, mean_ns, file_id, line_no, words
from lone_target
where failure_id in (select failure_id from crawl_growth)
union all
select
    c.failure_id, 6, 'backend_slow', case when c.target_count = 1 then c.node_id end, (c.cold_ns / c.cold_count)::bigint, c.file_id, c.line_no,
    'AIStore''s reads from the remote backend began with it and took ' || round(c.cold_ns / c.cold_count / 1e9, 1)::varchar || ' s on average (' || c.cold_count::bigint::varchar || ' of them' || case when c.target_count = 1 then ', all of target ' || c.node_id else '' end || ')'
from cold as c
join step_slowdown as s on s.failure_id = c.failure_id and s.place = 1
left join told_slowness as t on t.failure_id = c.failure_id
join threshold as p on p.name = 'strained_read_s'
where c.is_told and c.cold_count >= 10 and c.cold_ns >= p.value * 1e9 * c.cold_count and c.cold_ns >= c.span_ns and c.served_ns >= 0.9 * c.cold_ns
    and (s.is_data_wait or coalesce(t.told_count >= 3 and t.first_ns >= s.until_ns - 60000000000, false))
union all
select
    t.failure_id, 7, 'told_target', t.node_id, (t.mean_s * 1e9)::bigint, t.file_id, t.line_no,
    'its loaders called ' || t.told_count::varchar || ' reads slow (' || round(t.mean_s)::bigint::varchar || ' s on average), ' || t.named_count::varchar || ' of them at AIStore''s target ' || t.node_id
from told_slowness as t
join step_slowdown as s on s.failure_id = t.failure_id and s.place = 1
where t.node_id is not null and t.first_ns >= s.until_ns - 60000000000 and t.last_ns >= s.since_ns + s.slow_span_s * 5e8 and t.failure_id in (select failure_id from troubled) and t.failure_id in (select failure_id from crawl_growth)
union all
select
    w.failure_id, 9, 'lost_target', n.node_id, null, n.file_id, n.line_no,
    'its steps slowed when peers of AIStore''s target ' || n.node_id || ' lost it (' || replace(n.fault_kind, '_', ' ') || '), and they did not find it again'
from (select failure_id, any_value(cluster) as cluster, any_value(since_ns) as since_ns, any_value(until_ns) as until_ns from crawl_growth where since_ns is not null group by failure_id) as w
join node_fault as n on n.cluster = w.cluster and n.role = 'target' and n.fault_kind in ('stale_membership', 'hung') and n.started_ns between w.since_ns - 60000000000 and w.since_ns + 20000000000 and n.ended_ns >= (w.since_ns + w.until_ns) / 2
qualify min(n.node_id) over (partition by w.failure_id) = max(n.node_id) over (partition by w.failure_id) and row_number() over (partition by w.failure_id order by n.started_ns, n.fault_kind) = 1
