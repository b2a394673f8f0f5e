-- A worker line that says how a rank fared when its job attempt went wrong.
-- grain: one row a line, and one a rank that only another's line tells of as the first to time out
-- reads: worker_event, file_progress, ingested_file, threshold
-- stored: yes
-- note: is_stepped_over: thrown in a thread beside the program, which made steps afterwards. A line
-- note: by which a program gives up reading, or training as its numbers are not finite, is a crash
-- note: where a process of the attempt exits and no traceback tells why. A device error that a
-- note: program only warns of, and that its rank outlived, is none. A wait that ran out right below
-- note: an exception that nothing explains is its message. An error that begins a line, or a log's
-- note: last word, is a crash where nothing tells of an end but a launcher, of an exit code.
create or replace view failure_signal as
with member as (
    select job_id, attempt, pattern, group_rank, min(rank) as rank,
        count(distinct rank) as rank_count, bool_or(group_rank <> rank) as is_other
    from worker_event
    where rank_effect in ('names_peer', 'reached_barrier') and group_rank is not null
        and rank is not null
    group by job_id, attempt, pattern, group_rank
),
part as (select job_id, attempt, pattern from member group by all having bool_or(is_other)),
thread as (
    select distinct file_id, line_no from worker_event where pattern = 'python_thread_exception'),
torn as (
    select file_id, min(line_no) as line_no from worker_event
    where pattern = 'python_traceback' group by file_id
),
weighed as (
    select * from worker_event
    where role in ('cause', 'symptom', 'consequence', 'retry') or rank_effect is not null
        or (block_line_no is not null and role <> 'noise') or marks = 'attempt_end'
        or (role = 'context' and severity = 'error' and exception is not null)
        or pattern = 'torchrun_failure_entry' or starts_with(pattern, 'torchrun_worker_')
        or contains(text, 'failed to listen on any')
    qualify not coalesce(role = 'cause' and is_chained and bool_or(rank_effect = 'stopped'
        and not is_chained) over (partition by file_id, block_line_no), false)
),
told as (
    select n.line_no is not null as is_followed,
        coalesce(n.step_ns > w.latest_ns + o.value::bigint * 1000000000, false) as is_outlived,
        t.line_no is not null and n.line_no is not null as is_stepped_over,
        coalesce(coalesce(x.line_no - 1, g.line_count) - w.line_no <= e.value, false)
            and s.job_id is null as is_at_end,
        w.* replace (
            coalesce(w.is_uncaught, n.line_no is null and w.severity = 'error' and regexp_matches(
                w.text, '\[rank[0-9]+\]: (?:[\w.]*(?:Error|Exception|Timeout)|\w+(?:\.\w+)+): '
            )) as is_uncaught,
            case when w.rank_effect <> 'names_peer' or p.pattern is null then w.peer_rank
                when m.rank_count = 1 then m.rank end as peer_rank)
    from weighed as w
    join threshold as o on o.name = 'outlived_s'
    left join threshold as e on e.name = 'last_word_lines'
    left join ingested_file as g on g.file_id = w.file_id
    left join torn as x on x.file_id = w.file_id and x.line_no > w.line_no
    left join (select distinct job_id, attempt from file_progress) as s
        on s.job_id = w.job_id and s.attempt = w.attempt
    left join part as p on p.job_id = w.job_id and p.attempt = w.attempt and p.pattern = w.pattern
    left join thread as t on t.file_id = w.file_id and t.line_no = w.block_line_no - 1
    left join file_progress as n on n.job_id = w.job_id and n.attempt = w.attempt
        and n.file_id = w.file_id and n.line_no > w.line_no
    left join member as m on m.job_id = w.job_id and m.attempt = w.attempt and m.pattern = w.pattern
        and m.group_rank = w.peer_rank
),
event as (
    from told union all by name select n.* replace (
            n.peer_rank as rank, null as peer_rank, null as group_rank, null as process_group,
            null as last_enqueued, null as last_completed, 'timed_out' as rank_effect)
    from told as n
    anti join (select * from told where rank_effect = 'timed_out') as t
        on t.job_id = n.job_id and t.attempt = n.attempt and t.rank = n.peer_rank
    where n.rank_effect = 'notified' and contains(n.text, 'due to a collective timeout from  rank ')
    qualify 1 = row_number() over (
        partition by job_id, attempt, n.peer_rank order by utc_ns, file_id, line_no)
)
select
    job_id, attempt, rank,
    case
        when is_reset and pattern = 'nccl_socket_peer_closed' and rank is not null then 'crash'
        when is_reset and pattern = 'nccl_watchdog_failure_detected' then 'victim'
        when rank_effect = 'names_peer'
            and json_extract_string(capture, '$.stuck_seq_num') is not null then null
        when pattern = 'nccl_watchdog_thread_timeout' and is_said then 'victim'
        when rank_effect in ('timed_out', 'reached_barrier') then 'timeout'
        when (pattern in ('tcpstore_wait_timeout', 'gloo_address_missing', 'nccl_unique_id_missing')
                or (pattern = 'tcpstore_clients_missing' and rank is not null))
            and not coalesce(is_chained, false)
            and (is_uncaught or (block_line_no is not null and not is_followed)) then 'timeout'
        when pattern = 'nccl_data_inconsistency_abort' and contains(text, 'failed or timed out')
            and rank is not null and has_timeout and not has_own_word then 'timeout'
        when rank_effect = 'names_peer' and severity = 'warning' and is_followed then null
        when rank_effect in ('notified', 'names_peer') then rank_effect
        when pattern = 'torchrun_failure_entry' then case
            when exit_code in (-15, 143, -2, 130) then 'victim'
            when exit_code in (-6, 134) then 'aborted'
            when exit_code < 0 or exit_code in (137, 139, 135, 132, 136) then 'killed'
            else 'exit'
        end
        when rank_effect = 'killed' then 'killed'
        when is_told_below then 'victim'
        when pattern = 'torchrun_worker_failed' and exit_code in (-15, 143)
            and utc_ns = first_failed_ns and not has_cancel then 'killed'
        when role = 'consequence' and marks = 'attempt_end' and (pattern like 'slurm%'
            or (is_all_echo and exit_code is null and rank_effect = 'stopped')) then 'cancel'
        when pattern = 'process_aborted' and is_all_echo
            and regexp_matches(text, 'Terminated|SIGTERM received') then 'cancel'
        when pattern = 'nccl_internal_error' and is_uncaught and is_all_echo then 'crash'
        when role = 'consequence' then 'victim'
        when exception is not null and has_port_taken and starts_with(pattern, 'nccl') then 'victim'
        when role = 'retry' then 'retry'
        when rank_effect = 'gives_up' and has_exit and not has_traceback
            and not is_outlived then 'crash'
        when role = 'cause' and is_outlived and not coalesce(is_uncaught, false)
            and (exception is not null or tier in ('launcher', 'data_io')) then 'error'
        when role = 'cause' and tier = 'launcher' and rank is null then 'launcher'
        when role = 'cause' and coalesce(is_chained, false) then 'chained'
        when role = 'cause'
            and (block_line_no is not null or coalesce(is_uncaught, false) or (not is_mild
                and tier in ('process', 'launcher')) or (tier = 'gpu' and not is_got_over))
                then 'crash'
        when is_torn then 'torn'
        when is_cut or (is_cause and tier = 'collective' and not is_outlived) then 'crash'
        when is_cause and not (has_end or is_followed) and stamp_source is distinct from 'own'
            and regexp_matches(message,
                '^ *(?:[\w.]*(?:Error|Exception|Timeout)|\w+(?:\.\w+)+|(?:[A-Z][a-z]+){2,}): ')
                then 'crash'
        when is_last_word and not has_end then 'crash'
        when role = 'cause' and tier = 'network' and severity = 'error'
            and not (coalesce(endpoint, url) is not null and is_mild)
                then 'crash'
        when role = 'cause' then 'error'
    end as signal,
    pattern, tier, role, severity,
    case when (pattern = 'nccl_internal_error' and is_all_echo)
        or (pattern = 'nccl_socket_peer_closed' and is_reset) then 'network'
        when signal = 'killed' then coalesce(failure_class, 'infrastructure')
        when is_cut and exception = 'FileNotFoundError' then 'data'
        else failure_class end as failure_class,
    rank_effect = 'gives_up' as is_given_up,
    rank_effect = 'lost_peer' and severity = 'error' and not is_outlived
        and not regexp_matches(text, 'NCCL INFO|\[Service thread\]|TCPStore') as is_peer_lost,
    coalesce(exception,
        case when signal = 'crash' and block_line_no is null
            then nullif(regexp_extract(message,
                '^ *(?:\w+\.)*(\w*(?:Error|Exception|Timeout)|(?:[A-Z][a-z]+){2,}): ', 1), '') end)
        as exception, frame_kind, collective, user_location,
    process_group, seq_num, op_type, numel_in, numel_out, timeout_ms, ran_for_ms, last_enqueued,
    last_completed, group_rank, peer_rank, exit_code, endpoint, url, request_ns, wid, xid, node_id,
    bucket, object, status_code, retry_no, retry_limit, wait_s, received_count, expected_count,
    event_at, latest_at, utc_ns, latest_ns, stamp_source, block_line_no, is_uncaught,
    is_stepped_over, file_id, line_no, ltrim(message) as message, text, capture
from (
    select
        *,
        not (coalesce(has_sign, false) or has_timeout) as is_all_echo,
        has_timeout and not (coalesce(has_sign, false) or coalesce(has_real_timeout, false))
            and reset_count > 1 as is_reset
    from (
        select *,
            bool_or(rank_effect in ('reached_barrier', 'names_peer', 'killed')
                or pattern = 'torchrun_failure_entry' and exit_code < 0
                and exit_code not in (-6, -15) or (role = 'cause' and severity = 'error'))
                over attempt_lines as has_sign,
            bool_or(exit_code between 1 and 125 and pattern = 'torchrun_failure_entry')
                over attempt_lines as has_exit,
            bool_or(role = 'cause' and block_line_no is not null)
                over attempt_lines as has_traceback,
            coalesce(bool_or(exception is not null and role <> 'context' and role <> 'noise')
                over attempt_lines, false) as has_exception,
            coalesce(bool_or(rank_effect = 'timed_out') over attempt_lines, false) as has_timeout,
            bool_or(coalesce(rank_effect, role) in ('timed_out', 'lost_peer', 'cause'))
                over (partition by job_id, attempt, rank) as has_own_word,
            role = 'cause' and severity = 'error' as is_cause,
            coalesce(regexp_matches(text, '\b(DEBUG|INFO|WARN|WARNING)\b'), false) as is_mild,
            is_mild and not (tier = 'gpu' and contains(text, 'NCCL WARN')) and coalesce(
                max(line_no) filter (where role = 'retry' or (role = 'cause' and tier <> 'gpu'))
                    over (partition by file_id, rank) > line_no,
                false)
                as is_got_over,
            pattern = 'nccl_watchdog_timeout' as is_own,
            coalesce(pattern = 'python_traceback', false) as is_torn,
            bool_or(is_own) over (partition by job_id, attempt, rank, seq_num) or rank is null and
                bool_or(is_own) over (partition by job_id, attempt, seq_num, ran_for_ms) as is_said,
            is_cause and is_at_end and line_no = max(line_no) filter (where not is_torn)
                    over (partition by file_id)
                and not is_mild as is_last_word,
            role = 'context' and severity = 'error' and exception is not null
                and not coalesce(is_chained, has_exception) and not coalesce(
                    bool_or(rank_effect = 'stopped' and marks = 'attempt_end') over attempt_lines,
                    false) as is_cut,
            coalesce(bool_or(
                (block_line_no is not null and role <> 'noise' and not is_torn)
                    or rank_effect <> 'gives_up'
                    or ((marks = 'attempt_end' or pattern = 'torchrun_failure_entry')
                        and not (tier = 'launcher' and role <> 'cause'
                            and coalesce(exit_code between 1 and 125,
                                pattern = 'torchrun_child_failed')))
                or (role = 'cause' and tier in ('process', 'gpu', 'launcher'))
            ) over attempt_lines, false) as has_end,
            pattern = 'python_exception' and coalesce(lead(case when rank_effect = 'timed_out'
                and exception is null and stamp_source is distinct from 'own' then line_no end)
                over (partition by file_id order by line_no) - line_no <= m.value, false)
                as is_told_below,
            bool_or(contains(text, 'failed to listen on any')) over attempt_lines as has_port_taken,
            min(utc_ns) filter (where starts_with(pattern, 'torchrun_worker_'))
                over attempt_lines as first_failed_ns,
            coalesce(bool_or((pattern like 'slurm%' and marks = 'attempt_end')
                or pattern in ('torchrun_agent_signalled', 'program_signalled', 'job_cancelled',
                    'srun_task_killed', 'srun_task_ended')) over attempt_lines, false)
                as has_cancel,
            bool_or(rank_effect = 'timed_out' and pattern <> 'nccl_watchdog_failure_detected')
                over attempt_lines as has_real_timeout,
            count(distinct rank)
                filter (where pattern = 'nccl_socket_peer_closed' and contains(text, 'failed'))
                over attempt_lines as reset_count
        from event left join threshold as m on m.name = 'message_lines'
        window attempt_lines as (partition by job_id, attempt)
    )
)
where role in ('cause', 'symptom', 'consequence', 'retry') or pattern = 'torchrun_failure_entry'
    or rank_effect is not null
    or is_cut or is_torn
