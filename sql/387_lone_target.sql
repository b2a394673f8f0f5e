-- The one target whose reads became slow when the steps of a cancelled job did, while those of the others did not.
-- grain: one row a failure
-- reads: crawl_growth, step_slowdown, node_fault, threshold
-- case: yes
-- note: A batch of all ranks together has samples of every target, so one that is slow alone (slow_reads) holds up every step, of another rank each time. Its objects are small (whole_read_bytes): no program draws out reads of such. A read takes half of what a step takes longer, or more.
create or replace view lone_target as
select
    w.failure_id,
    any_value(w.node_id) as node_id,
    any_value(w.plain_ns / w.plain_count)::bigint as mean_ns,
    min(n.file_id) as file_id,
    arg_min(n.line_no, (n.file_id, n.line_no)) as line_no,
    'AIStore''s target ' || any_value(w.node_id) || ', and no other, took ' || round(any_value(w.plain_ns / w.plain_count) / 1e9)::bigint::varchar || ' s on average for a read (' || any_value(w.plain_count)::bigint::varchar
        || ' of them) since a step took ' || round(any_value(t.slow_step_s))::bigint::varchar || ' s and not ' || round(any_value(t.usual_step_s), 1)::varchar || ' s' as words
from crawl_growth as w
join node_fault as n on n.cluster = w.cluster and n.node_id = w.node_id and n.fault_kind = 'slow_reads'
    and n.started_ns <= w.since_ns + 60000000000 and n.known_ns >= w.since_ns - 60000000000 and n.ended_ns >= (w.since_ns + w.until_ns) / 2
join step_slowdown as t on t.failure_id = w.failure_id and t.place = 1
join threshold as p on p.name = 'whole_read_bytes'
where not w.is_before and w.plain_count >= 10 and w.read_bytes <= p.value * w.plain_count
    and not exists (select 1 from crawl_growth as o where o.failure_id = w.failure_id and not o.is_before and o.node_id <> w.node_id and o.plain_count > 0 and o.plain_ns / o.plain_count >= w.plain_ns / w.plain_count / 3)
    and w.plain_ns >= w.slow_ns * w.plain_count and w.plain_ns / w.plain_count >= 5e8 * (t.slow_step_s - t.usual_step_s)
group by w.failure_id
having count(distinct w.node_id) = 1
