-- How the job fared before it failed: whether it, or a rank of it, had become slow, what the ranks
-- waited in by name, and whether one that is ahead is so by less than a step.
-- grain: one row a failure and rule: slowdown, sync_point
-- reads: failure_case, step_slowdown, step_pace, sync_position
-- case: yes
-- note: Observations without a class: they explain nothing alone. The slowdown is blind where no
-- note: progress line of the attempt is available.
create or replace view finding_pace as
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
    [{'file_id': s.file_id, 'line_no': s.line_no, 'why': 'the first slow step'}] as supports
from failure_case as f
left join step_slowdown as s on s.failure_id = f.failure_id and s.place = 1
left join (select distinct failure_id from step_pace) as p on p.failure_id = f.failure_id
union all by name
select
    f.failure_id,
    'sync_point' as finding,
    if(s.failure_id is null, 'quiet', 'fired') as state,
    s.sync_point as failure_kind,
    'undetermined' as storage_verdict,
    s.ahead_rank as rank,
    coalesce(s.statement, 'the collective is not known') as statement,
    [{'file_id': s.file_id, 'line_no': s.line_no,
        'why': 'the last step before the job stopped making progress, or the time-out'}]
        as supports
from failure_case as f
left join sync_position as s on s.failure_id = f.failure_id
