-- Something that looks like the cause of a failure and is not, with the line that says so.
-- grain: one row a failure and suspicion
-- reads: failure_case, failure_lead, root_cause, node_suspicion, failure_signal, rank_state,
-- reads: worker_event, pattern, ingested_file, fr_failure, fr_suspect, fr_position
-- case: kept
-- note: Faults of nodes that were over before the ranks stopped or came after (one that nothing
-- note: speaks against is not judged: node_suspicion), what the launcher names as root cause, ranks
-- note: whose retries went through, a broadcast root that is ahead, counters and accusations of
-- note: logs that Flight Recorder dumps contradict, and noise.
create or replace view ruled_out as
with case_span as (
    select f.*, r.storage_verdict, r.failure_class
    from failure_case as f
    join root_cause as r on r.failure_id = f.failure_id and r.place = 1
),
fault as (
    select failure_id, 1 as position, what, because, file_id, line_no
    from node_suspicion
    where not is_open
),
launcher as (
    select f.failure_id, 2 as position,
        'rank ' || s.rank::varchar || ', which torchrun lists as root cause' as what,
        'it is the first process of its node that exited, not the first that failed: '
            || case
                when r.role = 'initiator'
                    then 'it waited in the collective and its own time-out ended it'
                when r.role in ('waiting', 'ahead') then 'it waited in the collective'
                when r.role = 'notified' then 'it was only notified of another rank''s time-out'
                else 'it went down after rank ' || l.culprit_rank::varchar end
                as because,
        s.file_id, s.line_no
    from case_span as f
    join failure_lead as l on l.failure_id = f.failure_id and l.culprit_rank is not null
    join failure_signal as s on s.job_id = f.job_id and s.attempt = f.attempt
        and s.pattern = 'torchrun_failure_entry'
        and json_extract_string(s.capture, '$.is_root_cause') = 'true'
    join rank_state as r on r.failure_id = f.failure_id and r.rank = s.rank and r.role <> 'culprit'
    qualify row_number() over (partition by f.failure_id, s.rank order by s.file_id, s.line_no) = 1
),
retried as (
    select f.failure_id, 3 as position,
        'the retries of rank ' || s.rank::varchar || ' (' || count(*)::varchar || ' lines'
            || coalesce(', up to ' || max(s.retry_no)::varchar || '/'
                || max(s.retry_limit)::varchar,
                '')
            || ')' as what,
        'they went through: the rank was waiting in the collective with the others' as because,
        arg_min(s.file_id, (s.utc_ns, s.file_id, s.line_no)) as file_id,
        arg_min(s.line_no, (s.utc_ns, s.file_id, s.line_no)) as line_no
    from case_span as f
    join failure_signal as s on s.job_id = f.job_id and s.attempt = f.attempt
        and s.signal in ('retry', 'error')
    join rank_state as r on r.failure_id = f.failure_id and r.rank = s.rank
        and r.role in ('initiator', 'waiting', 'ahead')
    group by f.failure_id, s.rank
),
ahead as (
    select r.failure_id, 4 as position,
        'rank ' || r.rank::varchar || ', ahead of the others' as what,
        'it had sent its part of the ' || coalesce(f.op_type, 'collective')
            || ' and gone on' as because,
        r.file_id, r.line_no
    from rank_state as r
    join case_span as f on f.failure_id = r.failure_id
    where r.role = 'ahead'
),
counter as (
    select f.failure_id, 5 as position,
        'that rank ' || w.rank::varchar || ' had enqueued ' || w.last_enqueued::varchar || ' in '
            || p.group_key || ', as its log says' as what,
        'its Flight Recorder dump says ' || p.last_enqueued::varchar
            || ', and counters only grow: the larger one was written later' as because,
        w.file_id, w.line_no
    from case_span as f
    join (
        select job_id, attempt, rank,
            coalesce(nullif(regexp_extract(process_group, '^([^( ]+)', 1), ''), '0') as guid,
            max(last_enqueued) as last_enqueued,
            arg_max(file_id, (last_enqueued, -file_id, -line_no)) as file_id,
            arg_max(line_no, (last_enqueued, -file_id, -line_no)) as line_no
        from worker_event
        where last_enqueued is not null and rank is not null
            and (process_group is not null or coalesce(pattern, '') not like 'nccl_dump_signal%')
        group by job_id, attempt, rank, guid
    ) as w on w.job_id = f.job_id and w.attempt = f.attempt
    join fr_position as p on p.job_id = w.job_id and p.rank = w.rank and p.has_dump
        and regexp_extract(p.group_key, '^([^ ]+)', 1) = w.guid
        and p.last_enqueued > w.last_enqueued
),
accused as (
    select f.failure_id, 6 as position,
        'rank ' || s.peer_rank::varchar || ', which rank ' || s.rank::varchar || ' names' as what,
        'by the dumps it waited itself, for rank ' || l.culprit_rank::varchar
            || ' in the end: a rank names whom it talks to, its own records say what it waited in'
                as because,
        s.file_id, s.line_no
    from case_span as f
    join failure_lead as l on l.failure_id = f.failure_id and l.culprit_rank is not null
    join failure_signal as s on s.job_id = f.job_id and s.attempt = f.attempt
        and s.signal = 'names_peer' and s.peer_rank is not null
    join (select d.job_id, d.attempt, p.rank from fr_failure as d
        join fr_suspect as p on p.job_id = d.job_id and p.path_attempt = d.path_attempt
        group by all having bool_and(p.is_cleared))
        as h
        on h.job_id = s.job_id
        and h.attempt = s.attempt and h.rank = s.peer_rank
    qualify row_number()
        over (partition by f.failure_id, s.peer_rank order by s.file_id, s.line_no) = 1
),
noise as (
    select f.failure_id, 7 as position,
        count(*)::varchar || ' lines: ' || any_value(p.title) as what,
        any_value(p.means) as because, min(w.file_id) as file_id,
        arg_min(w.line_no, (w.file_id, w.line_no)) as line_no
    from case_span as f
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt and w.role = 'noise'
        and w.tier in ('data_io', 'network')
    join pattern as p on p.pattern = w.pattern and p.format = 'worker'
    group by f.failure_id, w.pattern
)
select e.failure_id, e.position, e.what, e.because, i.path, e.line_no, e.file_id
from (select * from fault union all select * from launcher union all select * from retried
    union all select * from ahead union all select * from counter union all select * from accused
    union all select * from noise)
    as e
left join ingested_file as i on i.file_id = e.file_id
