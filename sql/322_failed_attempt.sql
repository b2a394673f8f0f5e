-- A job attempt that failed, with the signs of it.
-- grain: one row a failed job attempt
-- reads: failure_signal, job_span, fr_failure, stack_stand, threshold
-- stored: yes
-- note: A job of which no line says that it
-- note: failed hangs where most of its newest stacks wait in a collective, and its logs, if there
-- note: are any, fell silent before that (stood_ns). A text that ends inside a traceback tells of a
-- note: failure and of no more. Peers that are lost once the job was cancelled are lost to that.
-- note: Where a process ended with an error, what succeeded later was started again.
create or replace view failed_attempt as
with strong as (
    select
        job_id, attempt,
        count(*) filter (where signal = 'victim' and is_uncaught and severity = 'error'
            and tier in ('collective', 'network') and not coalesce(utc_ns >= cancel_ns, false))
            as early_echo_count,
        count(*) filter (where signal = 'timeout') as timeout_count,
        count(*) filter (where signal = 'crash') as crash_count,
        count(*) filter (where signal in ('killed', 'exit')) as exit_count,
        count(*) filter (where signal = 'launcher') as launcher_count,
        arg_min(file_id, (file_id, line_no)) filter (where signal = 'torn') as torn_file_id,
        arg_min(line_no, (file_id, line_no)) filter (where signal = 'torn') as torn_line_no,
        count(*)
            filter (
                where signal in ('timeout', 'crash', 'killed', 'exit', 'launcher', 'names_peer')
                    and not coalesce(is_stepped_over, false))
                as sign_count,
        count(*) filter (where signal = 'launcher' and ends_with(pattern, '_time_limit'))
            as limit_count,
        count(*) filter (where signal = 'cancel') as cancel_count,
        count(distinct rank)
            filter (
                where signal = 'victim' and is_uncaught and severity = 'error'
                    and tier in ('collective', 'network', 'data_io'))
                as echo_count,
        count(*) filter (
            where (signal = 'victim' and is_peer_lost)
                or (pattern = 'torchrun_closing_signal' and contains(text, 'SIGTERM'))
                or (pattern
                    in ('torchrun_worker_failed', 'deepspeed_worker_exit', 'composer_rank_exited',
                        'srun_task_exited', 'torch_child_failed')
                    and coalesce(exit_code, 1) not in (0, -2, -15, 130, 143))
        ) as lost_count,
        count(*)
            filter (
                where signal = 'aborted'
                    or pattern in ('torchrun_worker_failed', 'torchrun_child_failed')
                    or exit_code not in (0, -2, -15, 130, 143))
                as end_count,
        count(*) filter (
            where pattern in ('nccl_terminating_after_dump', 'nccl_data_inconsistency_abort')
                or signal = 'aborted'
                or (pattern = 'multiprocessing_other_end_gone' and is_uncaught)
                or (pattern = 'process_aborted'
                    and regexp_matches(text,
                        'Fatal Python error|core dumped|SIGABRT|failure signal'))
                or (pattern = 'srun_task_ended' and contains(text, ': Aborted'))
        ) as abort_count,
        max(latest_ns)
            filter (
                where signal in ('timeout', 'crash', 'killed', 'exit', 'launcher', 'names_peer'))
                as last_sign_ns,
        min(utc_ns)
            filter (
                where signal in ('timeout', 'killed', 'exit', 'aborted') and stamp_source = 'own')
                as first_stamped_ns
    from failure_signal
    left join (select job_id, attempt, cancel_ns from job_span) using (job_id, attempt)
    group by job_id, attempt
),
waiting_stack as (
    select
        job_id, attempt, max(taken_ns) as stood_ns,
        arg_min(file_id, (file_id, line_no))
            filter (where activity in ('collective', 'backward')) as file_id,
        arg_min(line_no, (file_id, line_no))
            filter (where activity in ('collective', 'backward')) as line_no
    from (
        select job_id, coalesce(attempt, 0) as attempt, activity, taken_ns, file_id, line_no,
            coalesce(stated_rank, path_rank) as own_rank
        from stack_stand
        where told_kind is null
        qualify row_number() over (
            partition by job_id, coalesce(attempt, 0), own_rank, if(own_rank is null, pid, null)
            order by taken_ns desc, file_id desc, dump_no desc) = 1
    )
    group by job_id, attempt
    having count(*) > 1
        and count(*) filter (where activity in ('collective', 'backward')) * 2 >= count(*)
)
select
    j.job_id,
    j.attempt,
    coalesce(s.timeout_count, 0) as timeout_count,
    coalesce(s.crash_count, 0) as crash_count,
    coalesce(s.exit_count, 0) as exit_count,
    coalesce(s.launcher_count, 0) as launcher_count,
    s.first_stamped_ns,
    s.last_sign_ns,
    j.started_ns,
    j.ended_ns,
    j.cancel_ns,
    j.progress_ns,
    j.world_size,
    j.is_world_stated,
    d.job_id is null and coalesce(s.sign_count - s.limit_count, 0) = 0
        and coalesce(s.early_echo_count, 0) = 0 and coalesce(s.end_count, 0) = 0
        and coalesce(j.cancel_ns is not null or s.cancel_count > 0, false)
        and coalesce(j.cancel_ns
            - greatest(coalesce(j.progress_ns, j.started_ns),
                case
                    when j.started_ns + j.printed_s * 1e9 <= j.cancel_ns
                        + (j.cancel_ns - j.started_ns) / 5
                        then j.started_ns + j.printed_s * 1e9 end)
                <= (select value * 1000000000 from threshold where name = 'hang_gap_s'), true)
            as is_cancelled,
    case when coalesce(s.sign_count + s.echo_count + s.abort_count + s.lost_count, 0) = 0
        and d.job_id is null and j.cancel_ns is null then h.stood_ns end as stood_ns,
    h.file_id as stood_file_id,
    h.line_no as stood_line_no,
    s.torn_file_id,
    s.torn_line_no
from job_span as j
left join strong as s on s.job_id = j.job_id and s.attempt = j.attempt
left join fr_failure as d on d.job_id = j.job_id and d.attempt = j.attempt
join threshold as g on g.name = 'hang_gap_s'
left join waiting_stack as h on h.job_id = j.job_id and h.attempt = j.attempt
    and not j.is_done and coalesce(j.log_ended_ns + g.value * 1000000000 <= h.stood_ns, true)
where d.job_id is not null
    or (coalesce(s.sign_count, 0) = 0 and not j.is_done
        and s.echo_count + s.abort_count + s.lost_count > 0)
    or (coalesce(s.sign_count, 0) > 0
        and (j.success_ns is null or j.success_ns < s.last_sign_ns - 1000000000
            or s.end_count > 0))
    or (coalesce(s.sign_count, 0) = 0 and not j.is_done
        and (j.cancel_ns is not null or s.cancel_count > 0 or s.torn_line_no is not null))
    or h.job_id is not null
