-- The job, or a rank of it, had become slow before it failed. An observation without a class: it explains nothing alone.
-- grain: one row a failure
-- reads: failure_case, step_slowdown, step_pace, slowdown_storage
-- case: yes
-- note: Blind where no progress line of the attempt is at hand. That AIStore's requests took longer from the same moment on is said, as a hint.
create or replace view finding_slowdown as
with slower as (
    select failure_id, arg_max(node_id, slow_ms) as node_id, arg_max(request, slow_ms) as request, arg_max(usual_ms, slow_ms) as usual_ms, max(slow_ms) as slow_ms,
        arg_max(file_id, slow_ms) as file_id, arg_max(line_no, slow_ms) as line_no
    from slowdown_storage
    where is_slower
    group by failure_id
),
paced as (
    select distinct failure_id from step_pace
)
select
    f.failure_id,
    'slowdown' as finding,
    case when s.failure_id is not null then 'fired' when p.failure_id is null then 'blind' else 'quiet' end as state,
    null::varchar as failure_class,
    case when s.is_data_wait then 'data_wait' when s.is_first then 'rank' when s.failure_id is not null then 'job' end as failure_kind,
    'undetermined' as storage_verdict,
    null::varchar as node_id,
    s.rank,
    null::varchar as chain_id,
    0.0 as score,
    coalesce(s.statement, case when p.failure_id is null then 'the job prints no progress lines that tell its pace' else 'the job kept its pace' end) || coalesce('; ' || w.request || ' of AIStore node ' || w.node_id || ' took ' || w.usual_ms::varchar || ' ms before and ' || w.slow_ms::varchar || ' ms since, which is a hint and no proof', '') as statement,
    [
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': 'the first slow step'},
        {'file_id': w.file_id, 'line_no': w.line_no, 'why': 'AIStore''s requests took longer at the same time'}
    ] as supports,
    [] as contradicts
from failure_case as f
left join step_slowdown as s on s.failure_id = f.failure_id and s.place = 1
left join slower as w on w.failure_id = f.failure_id
left join paced as p on p.failure_id = f.failure_id
