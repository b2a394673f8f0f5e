-- A grave fault of an AIStore node, with a job that printed trouble with storage or stopped as it
-- began.
-- grain: one row a fault and job
-- reads: node_fault, worker_event, failure_signal, threshold
-- stored: yes
-- note: It shows that the clocks of both are right, also to those who judge another job. is_stop:
-- note: the job stopped then, by a rank's end or the begin of the collective that timed out;
-- note: is_told: a line of it says so.
create or replace view felt_fault as
with span as (
    select
        max(value) filter (where name = 'felt_before_s')::bigint * 1000000000 as before_ns,
        max(value) filter (where name = 'felt_after_s')::bigint * 1000000000 as after_ns
    from threshold
),
sign as (
    select w.job_id, w.utc_ns, w.latest_ns, false as is_stop
    from worker_event as w
    cross join span as s
    where w.role in ('cause', 'retry', 'symptom') and w.utc_ns is not null
        and w.latest_ns - w.utc_ns <= s.after_ns
        and regexp_matches(w.text,
            'does not exist|prematurely|refused|timed out|timeout=|No route|STATUS:|Max retries'
                '|RemoteDisconnected|truncated at')
        and (w.tier in ('data_io', 'network') or w.url is not null or w.status_code is not null)
    union all
    select job_id, min(utc_ns), min(utc_ns), true
    from failure_signal
    where stamp_source = 'own' and signal in ('crash', 'killed', 'exit')
    group by job_id, attempt
    union all
    select job_id, min(utc_ns - ran_for_ms * 1000000), min(utc_ns - ran_for_ms * 1000000), true
    from worker_event
    where stamp_source = 'own' and ran_for_ms is not null
    group by job_id, attempt
)
select
    n.cluster, n.fault_id, g.job_id as felt_by, bool_or(g.is_stop) as is_stop,
    bool_or(not g.is_stop) as is_told
from node_fault as n
cross join span as s
join sign as g
    on g.utc_ns <= n.started_ns + s.after_ns and g.latest_ns >= n.started_ns - s.before_ns
where n.weight >= 0.9
group by n.cluster, n.fault_id, g.job_id
