-- A process was ended by a signal that nobody inside the job sent: host memory, scheduler, segmentation fault.
-- grain: one row a failure
-- reads: failure_lead
-- stored: yes
-- empty without: failure_lead
create or replace view finding_process_killed as
select
    failure_id,
    'process_killed' as finding,
    case when basis = 'killed' and crash_class is null then 'fired' else 'quiet' end as state,
    case when exit_code in (-11, 139, -4, 132, -8, 136) or regexp_matches(basis_text, '-11|-4 |-8 |SIGSEGV|SIGILL|SIGFPE') then 'software' else 'infrastructure' end as failure_class,
    'killed_by_signal' as failure_kind,
    'innocent' as storage_verdict,
    null::varchar as node_id,
    culprit_rank as rank,
    null::varchar as chain_id,
    0.85 as score,
    'rank ' || culprit_rank::varchar || ' was ended by a signal from outside the job (' || trim(substr(coalesce(basis_text, ''), 1, 80)) || ')' as statement,
    [{'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'the exit of rank ' || culprit_rank::varchar}] as supports,
    [] as contradicts
from failure_lead
where culprit_rank is not null
