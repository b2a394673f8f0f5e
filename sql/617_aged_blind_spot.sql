-- What of a failure had been removed because it was old before the failure was found, or before it
-- grew as wide as it is.
-- grain: one row a failure and kind of rows
-- reads: failure, job_cluster, aged_out
-- case: yes
-- note: Around a window, counters and events are missed in a span of its length before and after it
-- note: too; of the job, all that was removed is missed.
create or replace view aged_blind_spot as
with around as (
    select
        f.failure_id, f.job_id, c.cluster,
        2 * epoch_ns(f.window_started_at) - epoch_ns(f.window_ended_at) as low_ns,
        2 * epoch_ns(f.window_ended_at) - epoch_ns(f.window_started_at) as high_ns
    from failure as f
    left join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
missed as (
    select
        w.failure_id,
        case when a.table_name = 'counter_sample' then 'removed counters of AIStore'
            else 'removed events of AIStore' end
            as what,
        a.path, a.row_count, a.removed_at,
        case
            when a.table_name = 'counter_sample'
                then 'how they grew around the failure is not known'
            else 'a fault that they reported is not seen' end
            as hides
    from around as w
    join aged_out as a on a.cluster = w.cluster
        and a.table_name in ('counter_sample', 'ais_line', 'stats_line')
        and a.started_ns < w.high_ns and a.ended_ns > w.low_ns
    union all
    select distinct w.failure_id, 'removed worker logs of the job', a.path, a.row_count,
        a.removed_at, 'what their ranks did is not seen'
    from around as w
    join aged_out as a on a.job_id = w.job_id
)
select
    failure_id,
    what,
    'rows of ' || count(distinct path)::varchar
        || case when count(distinct path) = 1 then ' file' else ' files' end
        || ' had been removed because they were old ([serve.retention], last on '
        || strftime(max(removed_at)::timestamp, '%Y-%m-%d') || '): ' || any_value(hides) as why,
    'aiscorr --db past.duckdb ingest ' || min(path)
        || case
            when count(distinct path) > 1 then '   # and ' || (count(distinct path) - 1)::varchar
                || ' more: from aged_out'
            else '' end
            as command
from missed
group by failure_id, what
