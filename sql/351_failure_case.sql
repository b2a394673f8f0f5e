-- A failed attempt with its moments: when it began to wait or broke, when the watchdog spoke, when
-- it ended.
-- grain: one row a failure
-- reads: failed_attempt, last_step, stuck_collective, rank_crash, culprit, failure_signal,
-- reads: failure_name, worker_event, threshold
-- case: yes
-- note: stall_ns is the moment the culprit stopped keeping up: hang start, else its crash, else the
-- note: first sign; a crash without a stamp is not put later than the moment the next report of
-- note: progress was due, nor earlier than exit_heard_s before an agent of the launcher says that a
-- note: process of its ended (a rank may have saved for long before it crashed). idle_from_ns: the
-- note: last step, where the attempt was cancelled after it had made none for long. began_ns: where
-- note: all times of a job are of its last seconds, it may have begun an hour before.
create or replace view failure_case as
with died as (
    select c.job_id, c.attempt, min(r.utc_ns) as crash_ns, min(r.latest_ns) as crash_latest_ns,
        arg_min(r.stamp_source, (r.utc_ns, r.file_id, r.line_no)) as stamp_source,
        arg_min(r.file_id, (r.utc_ns, r.file_id, r.line_no)) as file_id,
        arg_min(r.line_no, (r.utc_ns, r.file_id, r.line_no)) as line_no
    from culprit as c
    join rank_crash as r on r.job_id = c.job_id and r.attempt = c.attempt and r.rank = c.rank
    group by c.job_id, c.attempt
),
sign as (
    select job_id, attempt, min(utc_ns) as first_ns,
        min(utc_ns) filter (where stamp_source = 'own') as first_own_ns,
        max(utc_ns) filter (where stamp_source = 'own') as last_ns,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from failure_signal
    where signal
        in ('timeout', 'crash', 'killed', 'exit', 'launcher', 'names_peer', 'aborted', 'victim',
            'cancel')
    group by job_id, attempt
),
agent as (
    select s.job_id, s.attempt,
        min(s.utc_ns) - any_value(p.value)::bigint * 1000000000 as crash_from_ns
    from failure_signal as s
    join threshold as p on p.name = 'exit_heard_s'
    where s.pattern in ('torchrun_closing_signal', 'torchrun_worker_failed')
        and s.stamp_source = 'own'
    group by s.job_id, s.attempt
),
place as (
    select job_id, attempt, mode(user_location order by user_location) as user_location
    from worker_event
    where pattern = 'nccl_collective_stack' and user_location is not null
    group by job_id, attempt
),
moment as (
    select
        f.job_id, f.attempt,
        k.hang_start_ns, k.is_start_dumped,
        coalesce(k.is_spoke_inferred, false) as is_spoke_inferred,
        coalesce(k.spoke_ns, d.crash_latest_ns, s.first_own_ns, s.first_ns, f.cancel_ns, f.stood_ns)
            as spoke_ns,
        d.crash_ns,
        d.crash_latest_ns,
        d.stamp_source in ('own', 'wrapper') as is_crash_dated,
        coalesce(k.spoke_ns, d.crash_latest_ns, s.first_own_ns) is not null or s.first_ns is null
            as is_spoke_dated,
        case
            when k.hang_start_ns is not null then k.hang_start_ns
            when d.stamp_source = 'own' then d.crash_ns
            else coalesce(
                least(d.crash_latest_ns, s.first_own_ns,
                    case
                        when l.interval_ns is not null
                            then greatest(d.crash_ns, l.step_ns + l.interval_ns,
                                g.crash_from_ns) end),
                s.first_own_ns, s.first_ns, f.progress_ns)
        end as stall_ns,
        case
            when f.stood_ns is null
                then greatest(s.last_ns, f.ended_ns, if(k.is_spoke_inferred, null, k.spoke_ns)) end
            as ended_ns,
        f.started_ns, f.timeout_count, f.crash_count, f.exit_count, f.launcher_count, f.world_size,
        f.is_world_stated, f.cancel_ns, f.progress_ns,
        f.stood_ns,
        case when l.interval_ns > 0
            and f.cancel_ns - l.step_ns > greatest(b.value * 1e9, 5 * l.interval_ns)
            then l.step_ns end as idle_from_ns,
        k.guid, k.process_group, k.seq_num,
        coalesce(k.op_type, upper(replace(k.collective, '_', ''))) as op_type, k.numel_in,
        k.numel_out, k.timeout_ms, k.ran_for_ms,
        k.rank_count as waiting_count, k.is_split,
        coalesce(p.user_location, k.user_location) as user_location,
        coalesce(k.file_id, d.file_id, s.file_id, f.stood_file_id, f.torn_file_id) as file_id,
        coalesce(k.line_no, d.line_no, s.line_no, f.stood_line_no, f.torn_line_no) as line_no
    from failed_attempt as f
    join threshold as b on b.name = 'fault_bite_s'
    left join last_step as l on l.job_id = f.job_id and l.attempt = f.attempt
    left join stuck_collective as k on k.job_id = f.job_id and k.attempt = f.attempt
    left join died as d on d.job_id = f.job_id and d.attempt = f.attempt
    left join sign as s on s.job_id = f.job_id and s.attempt = f.attempt
    left join agent as g on g.job_id = f.job_id and g.attempt = f.attempt
    left join place as p on p.job_id = f.job_id and p.attempt = f.attempt
)
select
    coalesce(n.failure_id,
        m.job_id || '.' || m.attempt::varchar || '-'
            || coalesce(
                strftime(make_timestamp_ns(coalesce(m.spoke_ns, m.ended_ns))::timestamp,
                    '%Y%m%dT%H%M%S'),
                'undated'))
        as failure_id,
    m.job_id, m.attempt, m.hang_start_ns, m.is_start_dumped, m.spoke_ns, m.is_spoke_inferred,
    m.crash_ns, m.crash_latest_ns, m.is_crash_dated, m.is_spoke_dated,
    m.stall_ns,
    m.ended_ns, coalesce(m.spoke_ns, m.ended_ns) as heard_ns, m.started_ns,
    m.started_ns - if(m.ended_ns - m.started_ns < 5e9, 3600000000000, 0) as began_ns,
    m.spoke_ns - coalesce(m.timeout_ms * 1000000, greatest(m.spoke_ns - m.hang_start_ns, 0), 0)
        - (w.value * 1000000000)::bigint as low_ns,
    m.timeout_count, m.crash_count, m.exit_count, m.launcher_count, m.world_size, m.is_world_stated,
    m.cancel_ns, m.progress_ns, m.stood_ns, m.idle_from_ns,
    m.progress_ns is not null or coalesce(m.seq_num > s.value, false) as has_trained,
    m.guid, m.process_group, m.seq_num, m.op_type, m.numel_in, m.numel_out, m.timeout_ms,
    m.ran_for_ms, m.waiting_count, m.is_split, m.user_location, m.file_id, m.line_no
from moment as m
join threshold as w on w.name = 'window_margin_s'
join threshold as s on s.name = 'trained_seq_num'
left join failure_name as n on n.job_id = m.job_id and n.attempt = m.attempt
