-- Somebody or the scheduler cancelled the job while it went on, or its time was over, and nothing
-- had failed before: it may have crawled.
-- grain: one row a failure
-- reads: failure_lead, failed_attempt, worker_file, failure_signal, worker_event, step_time,
-- reads: step_slowdown, last_step, ais_event, node_fault, fault_kind, threshold
-- case: yes
-- note: A job that was cancelled after a silence hung, and the other rules look for what held it
-- note: up; one that shows no step, or no time, may have hung, and so may one whose next steps
-- note: were overdue. Blind while the log of a rank is missing: it may have failed first, and the
-- note: rest was cancelled for it. An interrupt shows where each rank stood, as a stack does. What
-- note: somebody had changed in AIStore as the steps ended is said, and proves nothing. Where the
-- note: launcher of some ranks alone was asked to stop, the others lost them to that.
create or replace view finding_cancelled as
with word as (
    select job_id, attempt, file_id, line_no, pattern,
        bool_or(starts_with(pattern, 'slurm')) over (partition by job_id, attempt) as is_of_job
    from failure_signal
    where signal = 'cancel' and (pattern = 'slurm_cancelled' or not starts_with(pattern, 'slurm'))
    qualify 1 = row_number() over (partition by job_id, attempt
        order by pattern = 'program_signalled', pattern, utc_ns, file_id, line_no)
),
ended as (
    select job_id, attempt,
        count(
            distinct (file_id, coalesce(task_label, ''),
                coalesce(pid, json_extract_string(capture, '$.old_pid')::bigint)))
            as living_count,
        min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no
    from (select *, regexp_extract(text, '^(\d+): ', 1) as task_label from worker_event
        where pattern = 'torchrun_closing_signal')
    group by job_id, attempt
),
apart as (
    select distinct job_id
    from worker_file
    where coalesce(path_rank, path_local_rank, worker_node_no) is not null
),
slowed as (
    select job_id, attempt, arg_max(file_id, (epoch, step)) as file_id,
        arg_max(line_no, (epoch, step)) as line_no
    from step_time
    where step_s is not null
    group by job_id, attempt
    having arg_max(step_s, (epoch, step)) >= 3 * quantile_cont(step_s, 0.25)
),
stood as (
    select f.failure_id, f.cluster, f.idle_from_ns,
        (f.cancel_ns - f.idle_from_ns) // 1000000000 as stood_s, l.file_id, l.line_no
    from failure_lead as f
    join last_step as l on l.job_id = f.job_id and l.attempt = f.attempt
    where f.idle_from_ns is not null
),
changed as (
    select o.failure_id, min(e.utc_ns) as utc_ns,
        arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)) as file_id,
        arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no)) as line_no,
        arg_min(if(e.pattern = 'ais_config_changed', 'its configuration', 'a bucket'),
            (e.utc_ns, e.file_id, e.line_no))
            as what
    from stood as o
    join ais_event as e on e.cluster = o.cluster
        and e.pattern in ('ais_bucket_changed', 'ais_config_changed')
        and e.utc_ns >= o.idle_from_ns
    join threshold as t on t.name = 'fault_bite_s'
        and e.utc_ns <= o.idle_from_ns + t.value * 1000000000
    group by o.failure_id
),
caught as (
    select job_id, attempt,
        case count(distinct rank) filter (where frame_kind = 'storage')
            when 1 then 'rank '
                || any_value(rank) filter (where frame_kind = 'storage')::varchar || ' was'
            else count(distinct rank) filter (where frame_kind = 'storage')::varchar
                || ' ranks were' end
            || ' reading from storage and '
            || count(distinct rank) filter (where frame_kind = 'collective')::varchar
            || ' waited in a collective' as words,
        arg_min(file_id, (rank, line_no)) filter (where frame_kind = 'storage') as file_id,
        arg_min(line_no, (rank, line_no)) filter (where frame_kind = 'storage') as line_no
    from worker_event
    where pattern = 'python_keyboard_interrupt' and rank is not null and frame_kind is not null
    group by job_id, attempt
    having bool_or(frame_kind = 'storage') and bool_or(frame_kind = 'collective')
        and bool_and(frame_kind in ('storage', 'collective'))
),
borne as (
    select f.failure_id, n.file_id, n.line_no,
        n.role || ' ' || n.node_id || ' ' || k.broke_words as words
    from failure_lead as f
    left join slowed as d on d.job_id = f.job_id and d.attempt = f.attempt
    join node_fault as n on n.cluster = f.cluster and n.role = 'target'
        and n.weight >= if(d.job_id is null, 0.8, 0.5)
        and n.fault_kind <> 'maintenance' and n.ended_ns >= f.ended_ns - 60000000000
        and n.started_ns <= (f.started_ns + f.ended_ns) / 2
    join fault_kind as k on k.fault_kind = n.fault_kind
    qualify row_number()
        over (partition by f.failure_id order by n.weight desc, n.started_ns, n.node_id) = 1
)
select
    f.failure_id,
    'cancelled' as finding,
    case when h.is_apart then 'fired' when not a.is_cancelled then 'quiet'
        when coalesce(f.absent_count, 0) > 0 and (t.job_id is not null or not w.is_of_job)
        and not coalesce(e.living_count = f.rank_count, false) then 'blind' else 'fired' end
        as state,
    'infrastructure' as failure_class,
    'cancelled' as failure_kind,
    case when h.is_apart then if(f.fault_count > 0, 'undetermined', 'innocent')
        when s.failure_id is null and d.job_id is null and b.failure_id is null
        and o.failure_id is null and c.job_id is null and p.job_id is not null
        and a.cancel_ns is not null
            then 'innocent'
        else 'undetermined' end
        as storage_verdict,
    if(h.is_apart, f.culprits_words || ' ended as the launcher there was asked to stop, '
            'and the others lost a peer', 'the job was cancelled'
        || case when coalesce(o.failure_id, c.job_id) is not null or p.job_id is null then ''
            else ' while it went on' end
        || ', by somebody or by the scheduler; nothing had failed before'
        || case when p.job_id is null then ', but no line shows that it made steps' else '' end
        || case when coalesce(s.failure_id, d.job_id) is not null then ', but it had become slow'
            else '' end
        || coalesce(', but it had made no step for ' || o.stood_s::varchar || ' s', '')
        || coalesce('; in AIStore ' || g.what || ' had been changed at '
            || strftime(make_timestamp_ns(g.utc_ns)::timestamp, '%H:%M:%S')
            || ' UTC, as the steps ended', '')
        || coalesce('; as it was interrupted, ' || c.words, '')) as statement,
    list_filter([
        {'term': 'word', 'file_id': w.file_id, 'line_no': w.line_no,
        'why': case w.pattern
            when 'slurm_cancelled' then 'the word of the scheduler, which gives no reason'
            when 'job_cancelled' then 'it was ended on request'
            when 'program_signalled'
                then 'the program was asked to stop (the end of its container, scancel, a '
                    'preemption)'
            when 'dataloader_worker_stopped' then 'a process that loads data was asked to stop'
            when 'torch_child_stopped' then 'one of its processes was asked to stop'
            when 'process_aborted' then 'its process was asked to stop'
            else 'the launcher was asked to stop (Ctrl-C, the end of its container, scancel)' end},
        {'file_id': case when f.absent_count > 0
            and e.living_count = f.rank_count then e.file_id end,
        'line_no': e.line_no,
        'why': 'the launchers had to end ' || e.living_count::varchar
            || ' processes, those of all ranks, of which none had failed then'},
        {'file_id': c.file_id, 'line_no': c.line_no, 'why': 'where a rank was interrupted'},
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': 'the first slow step'},
        {'file_id': o.file_id, 'line_no': o.line_no, 'why': 'the last step that was made'},
        {'file_id': g.file_id, 'line_no': g.line_no, 'why': 'what was changed in AIStore then'},
        {'file_id': case when s.failure_id is null then d.file_id end, 'line_no': d.line_no,
        'why': 'the last step, three times as long as most'}
    ], lambda p: p.file_id is not null) as supports,
    case
        when b.failure_id is not null
            then [{'file_id': b.file_id, 'line_no': b.line_no,
                'why': 'while most of the job ran, and until it was cancelled, ' || b.words}]
        else [] end
        as contradicts
from failure_lead as f
join failed_attempt as a on a.job_id = f.job_id and a.attempt = f.attempt
join word as w on w.job_id = f.job_id and w.attempt = f.attempt
left join apart as t on t.job_id = f.job_id
left join caught as c on c.job_id = f.job_id and c.attempt = f.attempt
left join ended as e on e.job_id = f.job_id and e.attempt = f.attempt
left join step_slowdown as s on s.failure_id = f.failure_id and s.place = 1
left join slowed as d on d.job_id = f.job_id and d.attempt = f.attempt
left join (select distinct job_id, attempt from step_time) as p
    on p.job_id = f.job_id and p.attempt = f.attempt
left join stood as o on o.failure_id = f.failure_id
cross join lateral (select f.basis = 'departed' and f.basis_line_no is not null as is_apart) as h
left join borne as b on b.failure_id = f.failure_id
left join changed as g on g.failure_id = f.failure_id
