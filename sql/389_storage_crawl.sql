-- What made a job crawl at AIStore until somebody cancelled it: a slow remote backend, slow transforms, peers that keep batches waiting, or one or several targets whose reads slowed with the job.
-- grain: one row a failure
-- reads: crawl_growth, step_slowdown, slowdown_storage, crawl_sign, node_fault, threshold
-- case: yes
-- note: A long GET alone accuses nobody, since it lasts as long as its client takes to read. What a target waits for its remote backend, or for its peers' entries of a batch (getbatch.rxwait.ns), no client makes longer. Who assembles batches and waits for nobody while all others wait is the one they wait for. Where the steps slowed, the mean must have grown with them, or there was none of it before, as the statistics of every target tell that reads cold now, and the steps wait for data. What the backend gave nobody who waited (a prefetch) does not count. A transform (ETL) lasts until its client has read it: those of small objects count (whole_read_bytes), that grew no larger, where the targets served other reads at once.
create or replace view storage_crawl as
with summed as (
    select
        failure_id, bool_and(is_told) filter (where not is_before and cold_count > 0) as is_told, any_value(slow_ns) as slow_ns, any_value(since_ns) is not null as is_slowed, any_value(factor) as factor,
        sum(cold_count) filter (where not is_before) as cold_count, sum(cold_ns) filter (where not is_before) as cold_ns,
        sum(served_ns) filter (where not is_before) as served_ns,
        sum(cold_ns) filter (where is_before) / nullif(sum(cold_count) filter (where is_before), 0) as usual_cold_ns,
        sum(transform_count) filter (where not is_before) as transform_count, sum(transform_ns) filter (where not is_before) as transform_ns,
        sum(transform_bytes) filter (where not is_before) as transform_bytes,
        sum(plain_ns) filter (where not is_before and plain_count > 0) / sum(plain_count) filter (where not is_before and plain_count > 0) as plain_mean_ns,
        sum(transform_count) filter (where is_before) as usual_count, sum(transform_ns) filter (where is_before) / nullif(usual_count, 0) as usual_transform_ns,
        sum(transform_bytes) filter (where is_before) / nullif(usual_count, 0) as usual_bytes,
        sum(batch_count) filter (where not is_before and waited_ns > 0) as batch_count,
        sum(waited_ns) filter (where not is_before) as waited_ns,
        sum(waited_ns) filter (where is_before) / nullif(sum(batch_count) filter (where is_before), 0) as usual_wait_ns,
        count(*) filter (where not is_before and batch_count > 0) as assembler_count, count(*) filter (where not is_before and batch_count > 0 and waited_ns < slow_ns / 20) as prompt_count,
        any_value(node_id) filter (where not is_before and batch_count > 0 and waited_ns < slow_ns / 20) as prompt_id
    from crawl_growth
    group by failure_id
),
place as (
    select
        failure_id,
        arg_max(file_id, (cold_ns, node_id)) as cold_file_id, arg_max(line_no, (cold_ns, node_id)) as cold_line_no,
        arg_max(file_id, (transform_ns, node_id)) as transform_file_id, arg_max(line_no, (transform_ns, node_id)) as transform_line_no,
        arg_max(file_id, (waited_ns, node_id)) as wait_file_id, arg_max(line_no, (waited_ns, node_id)) as wait_line_no
    from crawl_growth where not is_before group by failure_id
),
troubled as (
    select w.failure_id, n.node_id, n.fault_kind, n.started_ns, n.file_id, n.line_no
    from (select distinct failure_id, cluster, since_ns, until_ns from crawl_growth) as w
    join node_fault as n on n.cluster = w.cluster and n.role = 'target' and n.weight >= 0.6 and abs(n.started_ns - w.since_ns) <= 60000000000 and n.ended_ns >= (w.since_ns + w.until_ns) / 2
),
slower as (
    select s.failure_id, count(distinct s.node_id) as slow_count, count(distinct t.node_id) as troubled_count, median(s.usual_ms) as usual_ms, median(s.slow_ms) as slow_ms,
        string_agg(distinct t.fault_kind, ', ' order by t.fault_kind) as kinds, arg_min(t.file_id, (t.started_ns, t.node_id)) as file_id, arg_min(t.line_no, (t.started_ns, t.node_id)) as line_no
    from slowdown_storage as s
    left join troubled as t on t.failure_id = s.failure_id and t.node_id = s.node_id
    join threshold as p on p.name = 'crawl_s'
    where s.request = 'GET' and s.is_slower and s.slow_ms >= p.value * 200
    group by s.failure_id
),
cause as (
    select s.failure_id, 1 as place, 'backend_slow' as crawl, null::varchar as node_id, cold_ns / cold_count as mean_ns, p.cold_file_id as file_id, p.cold_line_no as line_no,
        'AIStore''s reads from the remote backend took ' || round(cold_ns / cold_count / 1e9)::bigint::varchar || ' s on average (' || cold_count::bigint::varchar || ' of them)' as words
    from summed as s
    join place as p on p.failure_id = s.failure_id
    left join step_slowdown as t on t.failure_id = s.failure_id and t.place = 1
    where cold_count >= 10 and cold_ns >= slow_ns * cold_count and served_ns >= 0.9 * cold_ns and (not is_slowed or cold_ns / cold_count >= factor * coalesce(usual_cold_ns, case when t.is_data_wait and s.is_told then 0 end))
    union all
    select s.failure_id, 2, 'transform_slow', null, transform_ns / transform_count, p.transform_file_id, p.transform_line_no,
        'AIStore''s transforms (ETL) took ' || round(transform_ns / transform_count / 1e9)::bigint::varchar || ' s on average (' || transform_count::bigint::varchar || ' of them) and ' || round(usual_transform_ns / 1e9, 1)::varchar || ' s before, and its other reads ' || round(plain_mean_ns / 1e9, 1)::varchar || ' s'
    from summed as s
    join place as p on p.failure_id = s.failure_id
    join threshold as t on t.name = 'whole_read_bytes'
    where is_slowed and usual_count >= 10 and transform_count >= 10 and transform_ns >= slow_ns * transform_count and transform_ns / transform_count >= 2 * factor * usual_transform_ns
        and transform_bytes <= t.value * transform_count and transform_bytes / transform_count <= factor * usual_bytes and plain_mean_ns <= slow_ns / 5
    union all
    select s.failure_id, 3, 'slow_sender', case when prompt_count = 1 and assembler_count >= 3 then prompt_id end as sender_id, waited_ns / batch_count, p.wait_file_id, p.wait_line_no,
        'AIStore''s batches waited ' || round(waited_ns / batch_count / 1e9)::bigint::varchar || ' s on average for entries of other targets' || coalesce(', at all targets but ' || sender_id || ', which waited for nobody', '')
    from summed as s
    join place as p on p.failure_id = s.failure_id
    where batch_count >= 5 and waited_ns >= slow_ns * batch_count and cold_ns < waited_ns / 2 and (not is_slowed or waited_ns / batch_count >= factor * coalesce(usual_wait_ns, 0))
    union all
    select failure_id, 4, 'slow_reads', null, slow_ms * 1e6, file_id, line_no,
        'AIStore''s reads slowed with it, from ' || round(usual_ms, 1)::varchar || ' to ' || round(slow_ms)::bigint::varchar || ' ms on average, when ' || troubled_count::varchar || ' of the ' || slow_count::varchar || ' targets had trouble (' || kinds || ')'
    from slower where troubled_count >= 2 and troubled_count * 2 >= slow_count
    union all
    select failure_id, place, crawl, node_id, mean_ns, file_id, line_no, words from crawl_sign
)
select c.failure_id, c.crawl, c.node_id, round(c.mean_ns / 1e9, 3) as mean_s, w.is_felt, w.is_lasting, c.words, c.file_id, c.line_no
from cause as c
join (select failure_id, bool_or(is_felt) as is_felt, bool_and(is_lasting) as is_lasting from crawl_growth group by failure_id) as w on w.failure_id = c.failure_id
qualify row_number() over (partition by c.failure_id order by c.place) = 1
