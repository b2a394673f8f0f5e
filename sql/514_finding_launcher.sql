-- The job did not come up: port in use, rendezvous without all nodes, wrong environment, or the
-- scheduler ended it.
-- grain: one row a failure
-- reads: failure_lead, failure_signal, pattern, step_time, step_slowdown
-- case: yes
-- note: A job that printed steps had come up, one that then waited in vain for a node that fell
-- note: silent is told by that, and one rank that a signal ended is named. Where nodes did not
-- note: meet, or the time was over before a step, anything may have held the job, and what made its
-- note: steps slow may have used up its time. Who waits there for another's address waits for the
-- note: same. A system error of NCCL only says that a call failed: what NCCL printed of its set-up
-- note: says which. Where processes were taken for the host's memory, an error of which nothing is
-- note: known, and which is no mistake of the program, comes of it.
create or replace view finding_launcher as
with first_line as (
    select
        s.job_id, s.attempt, s.pattern, s.failure_class, s.file_id, s.line_no, p.title,
        row_number()
            over (partition by s.job_id, s.attempt order by s.utc_ns nulls last, s.line_no)
                as line_rank
    from (
        select job_id, attempt, pattern, failure_class, file_id, line_no, utc_ns
        from failure_signal
        where signal = 'launcher' or (signal = 'crash' and tier = 'launcher')
    ) as s
    left join pattern as p on p.pattern = s.pattern and p.format = 'worker'
)
select
    f.failure_id,
    'launcher' as finding,
    'fired' as state,
    coalesce(l.failure_class, 'infrastructure') as failure_class,
    l.pattern as failure_kind,
    case
        when regexp_matches(l.pattern,
            '^(tcpstore_(connect_timeout|clients_missing)|c10d_store_barrier_timeout'
                '|rendezvous_(timeout|connection_failed))$')
            and not coalesce(f.is_storage_cleared, false) then 'undetermined'
        when ends_with(l.pattern, '_time_limit') and p.job_id is null
            and not coalesce(f.is_storage_cleared, false) then 'undetermined'
        when w.failure_id is not null then 'undetermined'
        else 'innocent'
    end as storage_verdict,
    case when l.pattern like 'nccl%'
        and coalesce(f.crash_pattern, f.alike_pattern) = 'nccl_system_error'
            then 'the ranks could not be connected: '
        when p.job_id is null
        or coalesce(l.failure_class, 'infrastructure') <> 'infrastructure'
            then 'the job was not brought up or was ended from outside: '
        when f.culprit_rank is not null and f.culprit_count = 1
        and f.basis = 'killed' then f.culprit_words || ' was ended from outside: '
        else 'the job was ended from outside: ' end
        || coalesce(l.title, l.pattern)
        || if(w.failure_id is not null, ', but it had become slow', '') as statement,
    [{'term': 'word', 'file_id': l.file_id, 'line_no': l.line_no,
        'why': 'what the launcher or scheduler said'},
        {'file_id': w.file_id, 'line_no': w.line_no, 'why': 'the first slow step'},
        {'term': case when l.pattern = 'rendezvous_timeout' and f.basis = 'lost_host' then null
            when f.crash_count = 0 and (f.timeout_count = 0
                or (p.job_id is null and o.job_id is null))
                or (l.pattern like 'nccl%'
                    and coalesce(f.crash_pattern, f.alike_pattern) = 'nccl_system_error')
                or (regexp_matches(l.pattern, '(^|_)(oom|memory)(_|$)')
                    and coalesce(f.crash_pattern, f.alike_pattern) = 'python_exception'
                    and not regexp_matches(coalesce(f.exception, f.alike_exception),
                        '^(Type|Attribute|Name|Key|Index|Value|Assertion|Import|ModuleNotFound)'
                            'Error$'))
                then 'nothing_else' end}] as supports
from failure_lead as f
join first_line as l on l.job_id = f.job_id and l.attempt = f.attempt and l.line_rank = 1
left join (select distinct job_id, attempt from step_time) as p
    on p.job_id = f.job_id and p.attempt = f.attempt
left join (
    select distinct job_id, attempt from failure_signal
    where signal = 'timeout' and tier is distinct from 'launcher'
) as o on o.job_id = f.job_id and o.attempt = f.attempt
left join step_slowdown as w on w.failure_id = f.failure_id and w.place = 1
    and ends_with(l.pattern, '_time_limit')
