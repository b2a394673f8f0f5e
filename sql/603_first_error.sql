-- The first line of error among the evidence of a failure's verdict.
-- grain: one row a failure whose verdict cites a line of error
-- reads: root_cause, failure_case, worker_event, ais_event
-- case: yes
-- note: A line without a time of its own is put at the latest moment that fits, and not after the
-- note: moment the ranks began to wait. Lines of AIStore count only where the verdict is that
-- note: storage failed the job.
create or replace view first_error as
with cited as (
    select failure_id, storage_verdict, unnest(supports, recursive := true)
    from root_cause
    where place = 1
),
line as (
    select
        c.failure_id, w.utc_ns, w.latest_ns, w.stamp_source = 'own' as is_own, w.file_id, w.line_no
    from cited as c
    join worker_event as w on w.file_id = c.file_id and w.line_no = c.line_no
    where w.role in ('cause', 'symptom', 'retry', 'consequence')
    union all
    select c.failure_id, e.utc_ns, e.utc_ns as latest_ns, true as is_own, e.file_id, e.line_no
    from cited as c
    join ais_event as e on e.file_id = c.file_id and e.line_no = c.line_no
    where c.storage_verdict = 'guilty' and (e.severity in ('W', 'E') or e.node_effect is not null)
),
placed as (
    select
        l.failure_id, l.file_id, l.line_no, f.low_ns, l.utc_ns, l.latest_ns, l.is_own,
        case
            when l.is_own then l.utc_ns
            else least(
                l.latest_ns, greatest(coalesce(f.hang_start_ns, f.stall_ns), l.utc_ns)
            )
        end as error_ns
    from line as l
    join failure_case as f on f.failure_id = l.failure_id
)
select
    failure_id, error_ns,
    case
        when is_own or utc_ns = latest_ns then 'exact'
        when error_ns > utc_ns then 'at_latest'
        else 'at_earliest'
    end as error_is,
    file_id, line_no
from placed
where coalesce(error_ns >= low_ns, error_ns is not null)
qualify row_number() over (partition by failure_id order by error_ns, file_id, line_no) = 1
