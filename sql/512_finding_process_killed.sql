-- Something outside the program ended a process of the job: a signal (host memory, scheduler, or a
-- fault of its own), of a rank or of one that no line tells, or its host was lost.
-- grain: one row a failure and rule: process_killed, kill_unplaced (no line tells the rank),
-- grain: host_lost
-- reads: failure_lead, failure_signal, node_witness, threshold
-- case: yes
-- note: A fault of the process itself (SIGSEGV, SIGILL, SIGFPE) comes from no one outside, nor does
-- note: a bus error (SIGBUS): a page of a mapped file or of /dev/shm did not come. A process
-- note: without a rank counts only where nothing hung and no rank failed on its own before:
-- note: launchers kill what is left of a job that failed.
create or replace view finding_process_killed as
with ended as (
    select
        *,
        coalesce(exit_code in (-7, 135)
            or (exit_code is null and regexp_matches(basis_text, 'exitcode\s*: (-7|135)\b|SIGBUS')),
            false)
            as is_bus,
        coalesce(exit_code in (-11, 139, -4, 132, -8, 136)
            or regexp_matches(basis_text, '-11|-4 |-8 |SIGSEGV|SIGILL|SIGFPE'), false)
            and not is_bus as is_own
    from failure_lead
    where culprit_rank is not null
),
unread as (
    select e.failure_id, w.node_id, w.file_id, w.line_no
    from ended as e
    join threshold as p on p.name = 'felt_after_s'
    join threshold as q on q.name = 'felt_before_s'
    join node_witness as w on w.cluster = e.cluster and w.effect = 'io_error'
        and w.utc_ns between e.stall_ns - p.value * 1e9 and e.stall_ns + q.value * 1e9
    where e.is_bus and e.basis = 'killed'
    qualify row_number()
        over (partition by e.failure_id order by abs(w.utc_ns - e.stall_ns), w.file_id, w.line_no)
            = 1
),
kill as (
    select job_id, attempt, arg_min(failure_class, (utc_ns, line_no)) as failure_class,
        arg_min(pattern, (utc_ns, line_no)) as pattern,
        arg_min(message, (utc_ns, line_no)) as message,
        arg_min(file_id, (utc_ns, line_no)) as file_id,
        arg_min(line_no, (utc_ns, line_no)) as line_no
    from failure_signal
    where rank is null and (signal = 'killed' or (signal = 'crash' and tier = 'process'))
    group by job_id, attempt
)
select
    e.failure_id,
    'process_killed' as finding,
    case when e.basis = 'killed' and e.crash_class is null then 'fired' else 'quiet' end as state,
    case when e.is_own then 'software' else 'infrastructure' end as failure_class,
    case when e.is_bus then 'process_bus_error' else 'killed_by_signal' end as failure_kind,
    if(coalesce(u.node_id, e.kill_doubt) is null, 'innocent', 'undetermined') as storage_verdict,
    e.culprit_rank as rank,
    'rank ' || e.culprit_rank::varchar || case
        when e.is_bus
            then ' died of a bus error: a page of a mapped file or of /dev/shm did not come'
        when e.is_own then ' died of a fault of its own'
        else ' was ended by a signal from outside the job'
    end || ' ('
        || trim(substr(regexp_replace(coalesce(e.basis_text, ''), '\s+', ' ', 'g'), 1, 80)) || ')'
        || coalesce('; AIStore node ' || u.node_id
            || ' could not read from a disk just before, and no line tells what was mapped',
            '')
        || coalesce('; ' || e.kill_doubt, '') as statement,
    [
        {'term': 'signal', 'file_id': e.basis_file_id, 'line_no': e.basis_line_no,
        'why': 'the exit of rank ' || e.culprit_rank::varchar},
        {'term': case when u.node_id is not null then 'disk' end, 'file_id': u.file_id,
        'line_no': u.line_no,
        'why': 'a disk of AIStore node ' || u.node_id || ' that failed just before'}
    ] as supports
from ended as e
left join unread as u on u.failure_id = e.failure_id
union all by name
select
    f.failure_id,
    'kill_unplaced' as finding,
    case when k.job_id is null then 'quiet' when f.culprit_rank is null and f.timeout_count = 0
        and f.alike_count = 0 then 'fired' else 'quiet' end
        as state,
    coalesce(k.failure_class, 'infrastructure') as failure_class,
    coalesce(k.pattern, 'killed_by_signal') as failure_kind,
    if(f.kill_doubt is null, 'innocent', 'undetermined') as storage_verdict,
    'a process of the job was ended by a signal, and its line does not tell which rank it was: '
        || substr(trim(coalesce(k.message, '')), 1, 160)
        || coalesce('; ' || f.kill_doubt, '') as statement,
    [{'term': 'signal', 'file_id': k.file_id, 'line_no': k.line_no,
        'why': 'the end of the process'}] as supports
from failure_lead as f
left join kill as k on k.job_id = f.job_id and k.attempt = f.attempt
union all by name
select
    f.failure_id,
    'host_lost' as finding,
    'fired' as state,
    'infrastructure' as failure_class,
    f.basis as failure_kind,
    'innocent' as storage_verdict,
    f.culprit_rank as rank,
    'the host of ' || f.culprits_words
        || ' was lost, and with it all ranks that ran there: '
        || trim(regexp_extract(
            f.basis_text, '(srun: error: .*|sel: .*|Power .*|Kernel panic.*|BUG: unable .*)$', 1
        )) as statement,
    [{
        'term': 'word', 'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
        'why': 'why ' || f.culprit_words || ': ' || f.basis_words
    }] as supports
from failure_lead as f
where f.basis = 'lost_host'
