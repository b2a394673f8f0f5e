-- A process was ended by a signal that nobody inside the job sent: host memory, scheduler,
-- segmentation fault.
-- grain: one row a failure
-- reads: failure_lead, node_witness, threshold
-- case: yes
-- note: A fault of the process itself (SIGSEGV, SIGILL, SIGFPE) comes from no one outside, nor does
-- note: a bus error (SIGBUS): a page of a mapped file or of /dev/shm did not come.
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
