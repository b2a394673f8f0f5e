-- What the ranks waited in by name, and whether one that is ahead is so by less than a step. An
-- observation without a class.
-- grain: one row a failure
-- reads: failure_case, sync_position
-- case: yes
create or replace view finding_sync_point as
select
    f.failure_id,
    'sync_point' as finding,
    case when s.failure_id is null then 'quiet' else 'fired' end as state,
    s.sync_point as failure_kind,
    'undetermined' as storage_verdict,
    s.ahead_rank as rank,
    coalesce(s.statement, 'the collective is not known') as statement,
    [{'file_id': s.file_id, 'line_no': s.line_no,
        'why': 'the last step before the job stopped making progress, or the time-out'}]
        as supports
from failure_case as f
left join sync_position as s on s.failure_id = f.failure_id
