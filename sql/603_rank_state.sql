-- A rank in a failure: its role, what it had enqueued and completed, what it did, when it was last
-- heard of.
-- grain: one row a failure and rank
-- reads: failure_case, failed_rank, culprit, failure_lead, finding, rank_crash, rank_position,
-- reads: rank_suspect, rank_activity, failure_signal, worker_tail, worker_file, clock, fr_place
-- public: yes
-- case: kept
-- note: role is the first that holds of culprit, crashed, absent, behind, ahead, initiator,
-- note: notified, waiting, victim. Where the best finding is on some ranks that failed alike, each
-- note: died of its own error, and all of them are culprits; where all of the job's did, none is.
-- note: A broadcast root whose send is done is ahead and no culprit. is_initiator: its own time-out
-- note: fired; is_notified: it observed another's signal; is_absent: no line or dump of it.
create or replace view rank_state as
with heard as (
    select
        job_id, attempt, rank,
        bool_or(signal = 'timeout') as is_initiator,
        bool_or(signal = 'notified') as is_notified,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from failure_signal
    where rank is not null
    group by job_id, attempt, rank
),
doing as (
    select job_id, attempt, rank, activity, witness
    from rank_activity
    qualify row_number()
        over (partition by job_id, attempt, rank order by (activity = 'unknown'), confidence desc,
            witness, file_id, line_no)
            = 1
),
spoke as (
    select f.job_id, f.path_attempt + t.attempt_no as attempt, t.rank,
        max(t.local_ns - case when t.zone_offset_s is null then k.shift_ns else 0 end) as last_ns,
        arg_max(t.file_id, (t.local_ns is not null, t.local_ns, -t.file_id, t.line_no)) as file_id,
        arg_max(t.line_no, (t.local_ns is not null, t.local_ns, -t.file_id, t.line_no)) as line_no
    from worker_tail as t
    join worker_file as f on f.file_id = t.file_id
    join clock as k on k.file_id = t.file_id
    where t.rank is not null
    group by f.job_id, f.path_attempt + t.attempt_no, t.rank
),
ranked as (
    select job_id, attempt, rank, host, is_absent, last_ns from failed_rank
    union all by name
    select job_id, attempt, rank, false as is_absent from culprit as c
    where not exists (
        from failed_rank as r
            where r.job_id = c.job_id and r.attempt = c.attempt and r.rank = c.rank
    )
),
best as (
    select failure_id, finding from finding
    where state = 'fired' and failure_class is not null
    qualify row_number() over (partition by failure_id order by score desc, failure_class) = 1
),
alike as (
    select l.failure_id, c.rank
    from failure_lead as l
    join best as b on b.failure_id = l.failure_id and b.finding
        in ('storage_error', 'storage_unlinked', 'data_error', 'exception', 'process_killed')
    join rank_crash as c on c.job_id = l.job_id and c.attempt = l.attempt and c.signal = 'crash'
        and (c.pattern = l.alike_pattern or c.failure_class = l.crash_class)
    where l.culprit_rank is null and l.is_plural
    qualify count(*) over (partition by l.failure_id) < l.rank_count
),
joined as (
    select
        f.failure_id, f.job_id, f.attempt, r.rank, r.host, r.is_absent,
        coalesce(h.is_initiator, false) as is_initiator,
            coalesce(h.is_notified, false) as is_notified,
        c.rank is not null or a.rank is not null as is_culprit,
        x.rank is not null as is_crashed,
        p.rank is not null and p.last_enqueued < f.seq_num as is_behind,
        s.rank is not null or coalesce(p.last_completed >= f.seq_num, false)
            or coalesce(p.seq_num > f.seq_num, false) as is_ahead,
        coalesce(p.is_waiting, false) or coalesce(p.last_enqueued, p.seq_num) is not null
            or coalesce(d.witness = 'stack' and d.activity in ('collective', 'backward'), false)
                as is_placed,
        f.process_group, p.last_enqueued, p.last_completed, p.is_waiting,
        d.activity, d.witness, x.tier as crash_tier,
        greatest(r.last_ns, k.last_ns) as last_ns,
        coalesce(c.file_id, x.file_id, p.file_id, h.file_id, k.file_id) as file_id,
        case when c.file_id is not null then c.line_no when x.file_id is not null then x.line_no
            when p.file_id is not null then p.line_no when h.file_id is not null then h.line_no
            else k.line_no end
            as line_no
    from failure_case as f
    join ranked as r on r.job_id = f.job_id and r.attempt = f.attempt
    left join heard as h on h.job_id = f.job_id and h.attempt = f.attempt and h.rank = r.rank
    left join culprit as c on c.job_id = f.job_id and c.attempt = f.attempt and c.rank = r.rank
    left join alike as a on a.failure_id = f.failure_id and a.rank = r.rank
    left join rank_crash as x on x.job_id = f.job_id and x.attempt = f.attempt and x.rank = r.rank
    left join rank_position as p on p.job_id = f.job_id and p.attempt = f.attempt
        and p.rank = r.rank
    left join rank_suspect as s on s.job_id = f.job_id and s.attempt = f.attempt and s.rank = r.rank
        and s.basis = 'ahead'
    left join doing as d on d.job_id = f.job_id and d.attempt = f.attempt and d.rank = r.rank
    left join spoke as k on k.job_id = f.job_id and k.attempt = f.attempt and k.rank = r.rank
)
select
    failure_id, job_id, attempt, joined.rank,
    case
        when is_culprit then 'culprit' when is_crashed then 'crashed' when is_absent then 'absent'
            when is_behind then 'behind' when is_ahead then 'ahead'
        when is_initiator then 'initiator' when is_notified then 'notified'
            when is_placed then 'waiting' else 'victim'
    end as role,
    is_initiator, is_notified, is_absent, process_group, last_enqueued, last_completed,
    case when last_enqueued >= last_completed then last_enqueued - last_completed end as pending,
    case
        when is_waiting and coalesce(witness, '') <> 'stack' then 'collective'
        when activity
            in ('storage_wait', 'decoding', 'batch_preparation', 'worker_wait', 'data_loading',
                'checkpoint', 'collective', 'compute')
            then activity
        when activity in ('step', 'compile', 'evaluation', 'epoch_end', 'backward', 'skipping')
            then 'compute'
        when crash_tier = 'data_io' then 'data_loading'
        else 'unknown'
    end as activity,
    case when is_waiting and coalesce(witness, '') <> 'stack' then 'waiting in a collective'
        else replace(coalesce(activity, 'unknown'), '_', ' ') end
        as activity_detail,
    case when is_waiting and coalesce(witness, '') <> 'stack' then 'watchdog' when activity is null
        and crash_tier = 'data_io' then 'traceback' else witness end
        as activity_witness,
    make_timestamp_ns(coalesce(last_ns, q.utc_ns)) as last_seen_at,
    host, joined.file_id,
    case when q.file_id is null then line_no end as line_no,
    q.locator
from joined
left join fr_place as q on q.file_id = joined.file_id and q.place_no = joined.line_no
