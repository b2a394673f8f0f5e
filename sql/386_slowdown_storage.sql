-- How long AIStore's nodes took for a request while a job was slow, and in a span as long before.
-- grain: one row a failure whose job slowed, node and kind of request
-- reads: step_slowdown, failure_case, job_cluster, counter_delta, node, threshold
-- case: yes
-- note: Mean over the statistics intervals that end in the span. That both rose at one moment is a hint and no proof: a slow job asks for less, a busy storage may serve others.
create or replace view slowdown_storage as
with span as (
    select s.failure_id, c.cluster, s.since_ns, f.stall_ns as until_ns, s.since_ns - (f.stall_ns - s.since_ns) as from_ns
    from step_slowdown as s
    join failure_case as f on f.failure_id = s.failure_id
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    where s.place = 1 and f.stall_ns > s.since_ns
),
growth as (
    select
        p.failure_id, p.cluster, d.node_id, case when starts_with(d.counter, 'get.') then 'GET' else 'x-get-batch' end as request,
        sum(d.delta) filter (where d.counter in ('get.ns.total', 'getbatch.rxwait.ns') and d.utc_ns <= p.since_ns) as before_ns,
        sum(d.delta) filter (where d.counter in ('get.n', 'getbatch.n') and d.utc_ns <= p.since_ns) as before_count,
        sum(d.delta) filter (where d.counter in ('get.ns.total', 'getbatch.rxwait.ns') and d.utc_ns > p.since_ns) as slow_ns,
        sum(d.delta) filter (where d.counter in ('get.n', 'getbatch.n') and d.utc_ns > p.since_ns) as slow_count,
        arg_max(d.file_id, d.utc_ns) as file_id,
        arg_max(d.line_no, d.utc_ns) as line_no
    from span as p
    join counter_delta as d on d.cluster = p.cluster and d.utc_ns > p.from_ns and d.utc_ns <= p.until_ns
    where d.counter in ('get.n', 'get.ns.total', 'getbatch.n', 'getbatch.rxwait.ns')
    group by p.failure_id, p.cluster, d.node_id, case when starts_with(d.counter, 'get.') then 'GET' else 'x-get-batch' end
)
select
    g.failure_id,
    g.cluster,
    g.node_id,
    n.role as node_role,
    g.request,
    round(g.before_ns / nullif(g.before_count, 0) / 1e6, 3) as usual_ms,
    round(g.slow_ns / nullif(g.slow_count, 0) / 1e6, 3) as slow_ms,
    coalesce(g.slow_ns / nullif(g.slow_count, 0) > (select value from threshold where name = 'step_slow_factor') * g.before_ns / nullif(g.before_count, 0) and g.slow_ns / g.slow_count > 1e6, false) as is_slower,
    g.file_id,
    g.line_no
from growth as g
left join node as n on n.cluster = g.cluster and n.node_id = g.node_id
