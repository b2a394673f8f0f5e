-- A span of time in which a rank, host, node, disk, link or launcher was in a state.
-- grain: one row a subject, state and span
-- reads: node_fault, node_coverage, disk_episode, host_episode, failure_case, rank_activity, rank_crash, lost_host, rank_host, worker_event, failure_signal
-- public: yes
-- note: Each edge lies between its min and its max; null is what no line shows. is_cut: it was on when the last line about it was written, and nothing shows that it ended. An activity of a rank is what it did when its peers began to wait.
create or replace view episode as
with last_line as (
    select cluster, max(ended_ns) as ended_ns from node_coverage group by cluster
),
lost as (
    select l.job_id, l.attempt, h.host, l.file_id, l.line_no, l.text
    from lost_host as l
    join rank_host as h on h.job_id = l.job_id and h.attempt = l.attempt and h.rank = l.rank
    where h.host is not null and not exists (
        from host_episode as e
        where e.job_id = l.job_id and e.attempt = l.attempt and e.host = h.host and e.state = 'lost'
    )
    group by all
),
every as (
    select
        'node' as subject_kind, n.node_id as subject, n.cluster, n.fault_kind as state,
        n.started_ns as begin_min_ns, n.known_ns as begin_max_ns,
        greatest(n.known_ns, least(n.sign_ns, n.ended_ns)) as end_min_ns,
        case when n.ended_ns < c.ended_ns then n.ended_ns end as end_max_ns,
        coalesce(n.ended_ns >= c.ended_ns, true) as is_cut, n.file_id, n.line_no, n.text
    from node_fault as n
    left join last_line as c on c.cluster = n.cluster
    union all by name
    select
        'disk' as subject_kind, node_id || ' ' || mountpath as subject, cluster, state,
        null as begin_min_ns, begin_ns as begin_max_ns, last_sign_ns as end_min_ns,
        end_ns as end_max_ns, end_ns is null as is_cut, file_id, line_no, text
    from disk_episode
    union all by name
    select
        subject_kind, host as subject, job_id, attempt, state, begin_min_ns, begin_max_ns,
        last_sign_ns as end_min_ns, true as is_cut, file_id, line_no, text
    from host_episode
    union all by name
    select
        'host' as subject_kind, l.host as subject, l.job_id, l.attempt, 'lost' as state,
        min(e.utc_ns) as begin_min_ns, min(e.latest_ns) as begin_max_ns, true as is_cut,
        l.file_id, l.line_no, l.text
    from lost as l
    left join worker_event as e on e.file_id = l.file_id and e.line_no = l.line_no
    group by l.host, l.job_id, l.attempt, l.file_id, l.line_no, l.text
    union all by name
    select
        'rank' as subject_kind, a.rank::varchar as subject, a.job_id, a.attempt,
        a.activity as state, f.stall_ns as begin_max_ns, true as is_cut,
        a.file_id, a.line_no, a.text
    from rank_activity as a
    join failure_case as f on f.job_id = a.job_id and f.attempt = a.attempt
    where a.activity <> 'unknown'
    union all by name
    select
        'rank' as subject_kind, rank::varchar as subject, job_id, attempt,
        case signal when 'crash' then 'crashed' else signal end as state, utc_ns as begin_min_ns,
        latest_ns as begin_max_ns, false as is_cut, file_id, line_no, text
    from rank_crash
    union all by name
    select
        'launcher' as subject_kind, job_id as subject, job_id, attempt, pattern as state,
        utc_ns as begin_min_ns, latest_ns as begin_max_ns, false as is_cut, file_id, line_no, text
    from failure_signal
    where signal in ('launcher', 'cancel')
)
select
    subject_kind, subject, cluster, job_id, attempt, state,
    make_timestamp_ns(begin_min_ns) as begin_min_at,
    make_timestamp_ns(begin_max_ns) as begin_max_at,
    make_timestamp_ns(end_min_ns) as end_min_at,
    make_timestamp_ns(end_max_ns) as end_max_at,
    is_cut, file_id, line_no, text
from every
