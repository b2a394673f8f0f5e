-- Objects that a rank missed and no target has had since one of them went into maintenance and nothing was moved.
-- grain: one row a failure, rank, node in maintenance and bucket
-- reads: failure_lead, rank_word, rank_request, node_fault, node_witness, ais_event, threshold
-- case: yes
-- note: A node in maintenance stands in no map for reads: the targets that took its share are asked, and have what it holds only once a rebalance has moved it. So it must have gone while the job ran, none of the bucket may have been missing before, it may not be back, and no rebalance may have ended since. A rank's request names the object, or where it left out too many samples (reader_skipped_too_many) a line before that error. object_count is how many objects of the bucket are missing since, whoever asked.
create or replace view maintenance_loss as
with missing as (
    select cluster, node_id, utc_ns, name, split_part(name, '/', 1) as bucket, regexp_extract(name, '/(.+)', 1) as object
    from (select cluster, node_id, utc_ns, regexp_extract(text, 'ais://(\S+) does not exist', 1) as name from ais_event where pattern = 'ais_http_not_found')
),
told as (
    select f.failure_id, f.cluster, f.culprit_rank as rank, f.started_ns, f.crash_latest_ns, w.line as words
    from failure_lead as f
    join rank_word as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = f.culprit_rank and w.file_id = f.crash_file_id and w.line_no < f.crash_line_no
    where f.crash_pattern = 'reader_skipped_too_many'
    union
    select f.failure_id, f.cluster, r.rank, f.started_ns, f.crash_latest_ns, r.object
    from failure_lead as f
    join rank_request as r on r.failure_id = f.failure_id and r.outcome in ('missing', 'retry', 'error', 'chained') and r.object is not null
    where f.crash_pattern is not null
),
missed as (
    select t.failure_id, t.rank, t.cluster, t.started_ns, m.bucket, n.node_id, n.started_ns as gone_ns, n.file_id, n.line_no, max(m.utc_ns) as last_ns
    from told as t
    join threshold as b on b.name = 'felt_before_s'
    join missing as m on m.cluster = t.cluster and length(m.object) >= 5 and contains(t.words, m.object) and m.utc_ns <= t.crash_latest_ns + b.value * 1e9
    join node_fault as n on n.cluster = t.cluster and n.fault_kind = 'maintenance' and n.role = 'target' and n.node_id <> m.node_id and m.utc_ns >= n.started_ns and n.started_ns > t.started_ns
    group by all
)
select
    d.failure_id, d.rank, d.node_id, 'in_maintenance' as loss,
    count(distinct m.name) filter (where m.utc_ns >= d.gone_ns) as object_count,
    d.file_id, d.line_no
from missed as d
join missing as m on m.cluster = d.cluster and m.bucket = d.bucket and m.utc_ns between least(d.started_ns, d.gone_ns) and d.last_ns
where not exists (from ais_event as e where e.cluster = d.cluster and e.pattern = 'ais_rebalance_done_cluster' and e.utc_ns between d.gone_ns and d.last_ns)
    and not exists (from node_witness as w where w.cluster = d.cluster and w.node_id = d.node_id and w.effect in ('ready', 'back') and w.utc_ns between d.gone_ns and d.last_ns)
group by d.failure_id, d.rank, d.node_id, d.file_id, d.line_no, d.bucket
having count(*) filter (where m.utc_ns < d.gone_ns) = 0
