-- The job, or a rank of it, had become slow before it failed. An observation without a class: it
-- explains nothing alone.
-- grain: one row a failure
-- reads: failure_case, step_slowdown, step_pace
-- case: yes
-- note: Blind where no progress line of the attempt is available.
create or replace view finding_slowdown as
with paced as (
    select distinct failure_id from step_pace
)
select
    f.failure_id,
    'slowdown' as finding,
    case when s.failure_id is not null then 'fired' when p.failure_id is null then 'blind'
        else 'quiet' end
        as state,
    case when s.is_data_wait then 'data_wait' when s.is_first then 'rank'
        when s.failure_id is not null then 'job' end
        as failure_kind,
    'undetermined' as storage_verdict,
    s.rank,
    coalesce(s.statement,
        case when p.failure_id is null then 'the job prints too few progress lines to tell its pace'
            else 'the job kept its pace' end)
        as statement,
    [
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': 'the first slow step'}
    ] as supports
from failure_case as f
left join step_slowdown as s on s.failure_id = f.failure_id and s.place = 1
left join paced as p on p.failure_id = f.failure_id
