-- A process of the job was killed, and nothing tells which rank it was.
-- grain: one row a failure
-- reads: failure_lead, failure_signal
-- case: yes
-- note: Only where nothing hung and no rank failed on its own before: launchers kill what is left
-- note: of a job that failed.
create or replace view finding_kill_unplaced as
with kill as (
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
