-- An outage of the cluster that nothing the job printed fits: had its clock been right, somebody
-- would have met it.
-- grain: one row a failure and outage
-- reads: failure_case, job_cluster, node_fault, felt_fault, fault_kind, worker_event, ais_event,
-- reads: threshold
-- case: yes
-- note: While such an outage lies within an hour or two, AIStore's clocks may be off by as much and
-- note: it may be the cause; storage is then not cleared by being quiet at the moment. Where
-- note: another job stopped as a node of that cluster went, its clocks are right. A clock that is
-- note: off is so for the job's begin too: where a batch of its bucket began as the job did,
-- note: another must have begun, or gone on, when the job would have begun by the other clock.
create or replace view stray_outage as
with span as (
    select
        max(value) filter (where name = 'fault_slack_s')::bigint * 1000000000 as slack_ns,
        max(value) filter (where name = 'clock_doubt_s')::bigint * 1000000000 as doubt_ns,
        max(value) filter (where name = 'same_cause_s')::bigint * 1000000000 as same_ns
    from threshold
),
ready as (
    select job_id, attempt, bucket, max(utc_ns) as utc_ns
    from worker_event
        where role = 'identity' and bucket is not null and stamp_source in ('own', 'wrapper')
    group by job_id, attempt, bucket
),
begun as (
    select
        cluster, xid, any_value(bucket) filter (where pattern = 'ais_get_batch_started') as bucket,
        min(utc_ns) filter (where pattern = 'ais_get_batch_started') as utc_ns,
        max(utc_ns) as last_ns
    from ais_event where xid is not null group by cluster, xid
),
shift as (
    select w.job_id, w.attempt, a.cluster, a.utc_ns - w.utc_ns as from_ns,
        a.last_ns - w.utc_ns as to_ns
    from ready as w
    cross join span as s
    join begun as a on a.bucket = w.bucket and abs(a.utc_ns - w.utc_ns) <= s.doubt_ns
),
proven as (
    select w.job_id, w.attempt, a.cluster
    from worker_event as w
    join ais_event as a on a.wid = w.wid
    cross join span as s
    where w.stamp_source in ('own', 'wrapper') and abs(w.utc_ns - a.utc_ns) <= s.slack_ns
    union
    select w.job_id, w.attempt, a.cluster
    from worker_event as w
    join ais_event as a on a.object = w.object and a.bucket = w.bucket
    cross join span as s
    where w.stamp_source in ('own', 'wrapper') and abs(w.utc_ns - a.utc_ns) <= s.slack_ns
    union
    select x.job_id, x.attempt, x.cluster
    from shift as x
    cross join span as s
    group by x.job_id, x.attempt, x.cluster
    having count(*) = 1 and max(abs(x.from_ns)) <= max(s.same_ns)
)
select
    f.failure_id, n.cluster, n.node_id, n.fault_kind, n.started_at, n.started_ns, n.file_id,
    n.line_no
from failure_case as f
join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
cross join span as s
join node_fault as n on n.cluster = c.cluster and abs(n.started_ns - f.stall_ns) <= s.doubt_ns
    and n.weight >= 0.9
join fault_kind as k on k.fault_kind = n.fault_kind and k.takes_away
left join proven as p on p.job_id = f.job_id and p.attempt = f.attempt and p.cluster = c.cluster
where p.job_id is null
    and not exists (
        from felt_fault as x
        where x.cluster = c.cluster and x.felt_by <> f.job_id
            and (x.is_stop or x.fault_id = n.fault_id)
    )
    and not exists (
        from felt_fault as x
        where x.fault_id = n.fault_id and x.felt_by = f.job_id and x.is_told
    )
    and not (n.started_ns <= f.stall_ns + s.slack_ns and n.ended_ns >= f.stall_ns - s.slack_ns)
    and (
        not exists (
            from shift as x
            where x.job_id = f.job_id and x.attempt = f.attempt and x.cluster = c.cluster
                and abs(x.from_ns) <= s.same_ns
        )
        or exists (
            from shift as x
            where x.job_id = f.job_id and x.attempt = f.attempt and x.cluster = c.cluster
                and n.started_ns <= f.stall_ns + x.to_ns + s.slack_ns
                and n.ended_ns >= f.stall_ns + x.from_ns - s.same_ns - s.slack_ns
        )
    )
