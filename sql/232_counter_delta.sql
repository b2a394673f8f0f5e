-- Growth of one cumulative counter of one node over (previous_at, sampled_at], inside one run of the daemon.
-- grain: one row a cumulative counter of a statistics line
-- reads: counter_reading
-- public: yes
-- note: Zero counters are not printed, so a counter that appears grew from 0 since the statistics line before. Nothing is printed while a node idles, so the growth may lie anywhere in the interval. A value that falls inside a run means reset-stats: the growth is the new value. A run whose start is not in the logs has no first delta.
create or replace view counter_delta as
with reading as (
    select
        cluster, node_id, node_role, process_seq, counter, file_id, line_no, utc_ns, value, previous_ns, started_ns,
        lag(value) over same as last_value,
        lag(utc_ns) over same as last_ns
    from counter_reading
    where counter like '%.n' or counter like '%.size' or counter like '%.ns.total' or counter in ('getbatch.rxwait.ns', 'getbatch.throttle.ns')
    window same as (partition by cluster, node_id, process_seq, counter order by utc_ns, line_no)
)
select
    cluster,
    node_id,
    node_role,
    process_seq,
    counter,
    make_timestamp_ns(coalesce(last_ns, previous_ns, started_ns)) as previous_at,
    make_timestamp_ns(utc_ns) as sampled_at,
    value,
    case when last_value is null or value < last_value then value else value - last_value end as delta,
    last_value is not null and value < last_value as is_reset,
    coalesce(last_ns, previous_ns, started_ns) as previous_ns,
    utc_ns,
    file_id,
    line_no
from reading
where coalesce(last_ns, previous_ns, started_ns) is not null
