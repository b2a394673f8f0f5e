-- What a rank did or how it died, what a launcher reports, a host that was lost, a bucket changed.
-- grain: one row a subject and state
-- reads: line_episode, failure_case, rank_activity, rank_crash, lost_host, rank_host, worker_event,
-- reads: failure_signal, bucket_change
-- case: kept
-- note: An activity is what a rank did when its peers began to wait. A lost host is here where only
-- note: its ranks name it.
create or replace view job_episode as
with lost as (
    select l.job_id, l.attempt, h.host, l.file_id, l.line_no, l.text
    from lost_host as l
    join rank_host as h on h.job_id = l.job_id and h.attempt = l.attempt and h.rank = l.rank
    where h.host is not null and not exists (
        from line_episode as e
        where e.job_id = l.job_id and e.attempt = l.attempt and e.subject = h.host
            and e.state = 'lost'
    )
    group by all
),
every as (
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
    union all by name
    select
        'bucket' as subject_kind, b.bucket as subject, f.job_id, f.attempt, b.action as state,
        b.utc_ns as begin_min_ns, b.utc_ns as begin_max_ns, true as is_cut, b.file_id, b.line_no
    from bucket_change as b
    join failure_case as f on f.failure_id = b.failure_id
    where b.is_proven
)
select
    subject_kind, subject, job_id, attempt, state, begin_min_ns, begin_max_ns, is_cut, file_id,
    line_no, text
from every
