-- What targets waited for while a cancelled job may have crawled, and in a span as long before its steps slowed.
-- grain: one row a failure, target and side of the first slow step (is_before)
-- reads: failed_attempt, failure_case, job, job_cluster, step_time, step_slowdown, counter_delta, cold_counter, threshold
-- case: yes
-- note: From the first slow step, or the start of the job, to its end; a statistics interval is on the side of its middle. What came cold before is that of intervals that ended before the last fast step, since the first slow one began there; of transforms it is that of the whole fast part of the job; as one may be counted as a read too, plain_count and plain_ns are what is left since then. is_told: statistics of the target tell of its reads in the fast part, so that what they lack was not there. is_felt: the steps slowed, or were long of waiting: most of their time is not their own, or is for data; long steps alone are those of a large model. is_lasting: the slow part is a considerable part of the job (crawl_share). No row where the steps are known and short. Only of the cluster that is surely the job's.
create or replace view crawl_growth as
with paced as (
    select job_id, attempt, median(gap_s / gap_steps) as pace_s, median(step_s) filter (where step_s_source = 'printed') as own_s, median(data_s) as data_s
    from step_time
    where gap_steps > 0 and gap_s is not null
    group by job_id, attempt
),
crawling as (
    select f.failure_id, c.cluster, f.stall_ns as until_ns, s.since_ns, s.until_ns as fast_ns, epoch_ns(j.started_at) as begun_ns, coalesce(2 * s.since_ns - f.stall_ns, begun_ns) as from_ns, (p.value * 1e9)::bigint as slow_ns, g.value as factor,
        s.since_ns is not null or coalesce(least(t.own_s, t.pace_s - t.data_s) <= t.pace_s / 2, false) as is_felt,
        coalesce(f.stall_ns - s.since_ns >= l.value * (a.ended_ns - a.started_ns), true) as is_lasting
    from failure_case as f
    join failed_attempt as a on a.job_id = f.job_id and a.attempt = f.attempt and a.is_cancelled
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join threshold as p on p.name = 'crawl_s'
    join threshold as g on g.name = 'step_slow_factor'
    join threshold as k on k.name = 'cluster_sure'
    join threshold as l on l.name = 'crawl_share'
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt and c.certainty >= k.value
    left join step_slowdown as s on s.failure_id = f.failure_id and s.place = 1
    left join paced as t on t.job_id = f.job_id and t.attempt = f.attempt
    where s.since_ns is not null or coalesce(t.pace_s >= p.value / 2, true)
    qualify row_number() over (partition by f.failure_id order by c.certainty desc, c.cluster) = 1
),
growth as (
    select w.*, d.utc_ns, d.node_id, d.counter, k.measure as cold_measure, d.delta, d.file_id, d.line_no, coalesce(d.utc_ns + d.previous_ns < 2 * w.since_ns, false) as is_before
    from crawling as w
    join counter_delta as d on d.cluster = w.cluster and d.node_role = 'target' and d.utc_ns + d.previous_ns >= 2 * case when starts_with(d.counter, 'etl.') then w.begun_ns else w.from_ns end and d.utc_ns <= w.until_ns
    left join cold_counter as k on k.counter = d.counter
    where d.counter in ('getbatch.n', 'getbatch.rxwait.ns', 'get.n', 'get.ns.total', 'get.size') or (k.counter is not null and (not is_before or d.utc_ns <= w.fast_ns))
        or (d.counter in ('etl.inline.n', 'etl.inline.ns.total', 'etl.inline.size') and (not is_before or d.utc_ns <= w.fast_ns))
)
select
    failure_id, any_value(cluster) as cluster, node_id, is_before, any_value(is_felt) as is_felt, any_value(is_lasting) as is_lasting, any_value(since_ns) as since_ns, any_value(until_ns) as until_ns, any_value(slow_ns) as slow_ns, any_value(factor) as factor,
    coalesce(sum(delta) filter (where counter = 'getbatch.n'), 0) as batch_count,
    coalesce(sum(delta) filter (where counter = 'getbatch.rxwait.ns'), 0) as waited_ns,
    coalesce(sum(delta) filter (where counter = 'get.ns.total'), 0) as served_ns,
    coalesce(sum(delta) filter (where cold_measure = 'n'), 0) as cold_count,
    coalesce(sum(delta) filter (where cold_measure = 'ns'), 0) as cold_ns,
    coalesce(sum(delta) filter (where counter = 'etl.inline.n'), 0) as transform_count,
    coalesce(sum(delta) filter (where counter = 'etl.inline.ns.total'), 0) as transform_ns,
    coalesce(sum(delta) filter (where counter = 'etl.inline.size'), 0) as transform_bytes,
    case when is_before then 0 else coalesce(sum(delta) filter (where counter = 'get.n'), 0) - case when served_ns >= transform_ns then transform_count else 0 end end as plain_count,
    case when is_before then 0 else served_ns - case when served_ns >= transform_ns then transform_ns else 0 end end as plain_ns,
    coalesce(sum(delta) filter (where counter = 'get.size'), 0) as read_bytes,
    coalesce(bool_or(bool_or(is_before and counter in ('get.n', 'get.ns.total') and utc_ns <= fast_ns)) over (partition by failure_id, node_id), false) as is_told,
    max(file_id) as file_id, arg_max(line_no, (file_id, line_no)) as line_no
from growth
group by failure_id, node_id, is_before
