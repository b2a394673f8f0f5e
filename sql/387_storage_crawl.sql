-- What made a job crawl at AIStore until somebody cancelled it: a slow remote backend, peers that keep batches waiting, or reads that slowed with the job while nodes were in trouble.
-- grain: one row a failure
-- reads: failed_attempt, failure_case, job, job_cluster, step_pace, step_slowdown, slowdown_storage, counter_delta, node_fault, threshold
-- stored: yes
-- empty without: failure_case
-- empty without: failed_attempt where is_cancelled
-- note: A long GET alone accuses nobody, since it lasts as long as its client takes to read. What a target waits for its remote backend, or for its peers' entries of a batch (getbatch.rxwait.ns), no client makes longer. Who waits for nobody while all others wait is the one they wait for. Means over the statistics intervals from the first slow step, or the start of the job, to its end. is_felt: the job's own progress lines show long steps; without such lines it is not known, and a job with short ones did not crawl.
create or replace view storage_crawl as
with crawling as (
    select f.failure_id, c.cluster, coalesce(s.since_ns, epoch_ns(j.started_at)) as from_ns, f.stall_ns as until_ns, s.since_ns, p.value * 1e9 as slow_ns, s.since_ns is not null or u.usual_s is not null as is_felt
    from failure_case as f
    join failed_attempt as a on a.job_id = f.job_id and a.attempt = f.attempt and a.is_cancelled
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join threshold as p on p.name = 'crawl_s'
    left join step_slowdown as s on s.failure_id = f.failure_id and s.place = 1
    left join (select failure_id, min(usual_s) as usual_s from step_pace group by failure_id) as u on u.failure_id = f.failure_id
    where s.since_ns is not null or coalesce(u.usual_s >= p.value / 2, true)
),
grown as (
    select
        w.failure_id, d.node_id, any_value(w.slow_ns) as slow_ns,
        coalesce(sum(d.delta) filter (where d.counter = 'getbatch.n'), 0) as batch_count,
        coalesce(sum(d.delta) filter (where d.counter = 'getbatch.rxwait.ns'), 0) as waited_ns,
        coalesce(sum(d.delta) filter (where ends_with(d.counter, '.get.n')), 0) as cold_count,
        coalesce(sum(d.delta) filter (where ends_with(d.counter, '.get.ns.total')), 0) as cold_ns,
        arg_max(d.file_id, (d.utc_ns, d.line_no)) as file_id,
        arg_max(d.line_no, (d.utc_ns, d.line_no)) as line_no
    from crawling as w
    join counter_delta as d on d.cluster = w.cluster and d.node_role = 'target' and d.utc_ns > w.from_ns and d.utc_ns <= w.until_ns
        and (d.counter in ('getbatch.n', 'getbatch.rxwait.ns') or regexp_matches(d.counter, '^[a-z]+\.get\.(n|ns\.total)$'))
    where not starts_with(d.counter, 'err.')
    group by w.failure_id, d.node_id
),
troubled as (
    select w.failure_id, count(distinct n.node_id)::varchar || ' targets had trouble (' || string_agg(distinct n.fault_kind, ', ' order by n.fault_kind) || ')' as words, arg_min(n.file_id, (n.started_ns, n.node_id)) as file_id, arg_min(n.line_no, (n.started_ns, n.node_id)) as line_no
    from crawling as w
    join node_fault as n on n.cluster = w.cluster and n.role = 'target' and n.weight >= 0.6 and abs(n.started_ns - w.since_ns) <= 60000000000 and n.ended_ns >= (w.since_ns + w.until_ns) / 2
    group by w.failure_id
),
cause as (
    select failure_id, 1 as place, 'backend_slow' as crawl, null::varchar as node_id, sum(cold_ns) / sum(cold_count) as mean_ns, arg_max(file_id, (cold_ns, node_id)) as file_id, arg_max(line_no, (cold_ns, node_id)) as line_no,
        'AIStore''s reads from the remote backend took ' || round(mean_ns / 1e9)::bigint::varchar || ' s on average (' || sum(cold_count)::bigint::varchar || ' of them)' as words
    from grown
    group by failure_id
    having sum(cold_count) >= 10 and mean_ns >= any_value(slow_ns)
    union all
    select failure_id, 2, 'slow_sender', case when count(*) filter (where waited_ns < slow_ns / 20) = 1 and count(*) >= 3 then any_value(node_id) filter (where waited_ns < slow_ns / 20) end as sender_id,
        sum(waited_ns) / sum(batch_count) filter (where waited_ns > 0) as mean_ns, arg_max(file_id, (waited_ns, node_id)) as file_id, arg_max(line_no, (waited_ns, node_id)) as line_no,
        'AIStore''s batches waited ' || round(mean_ns / 1e9)::bigint::varchar || ' s on average for entries of other targets' || coalesce(', at all targets but ' || sender_id || ', which waited for nobody', '')
    from grown
    group by failure_id
    having sum(batch_count) filter (where waited_ns > 0) >= 5 and mean_ns >= any_value(slow_ns)
    union all
    select w.failure_id, 3, 'slow_reads', null, max(s.slow_ms) * 1e6, any_value(t.file_id), any_value(t.line_no),
        'AIStore''s reads slowed with it, from ' || round(median(s.usual_ms), 1)::varchar || ' to ' || round(median(s.slow_ms))::bigint::varchar || ' ms on average, when ' || any_value(t.words)
    from crawling as w
    join troubled as t on t.failure_id = w.failure_id
    join slowdown_storage as s on s.failure_id = w.failure_id and s.request = 'GET' and s.is_slower and s.slow_ms * 1e6 >= w.slow_ns / 5
    group by w.failure_id
)
select c.failure_id, c.crawl, c.node_id, round(c.mean_ns / 1e9, 3) as mean_s, w.is_felt, c.words, c.file_id, c.line_no
from cause as c
join crawling as w on w.failure_id = c.failure_id
qualify row_number() over (partition by c.failure_id order by c.place) = 1
