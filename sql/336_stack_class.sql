-- Ranks whose main threads stood in the same calls when stacks were last taken, as leaves of the
-- tree of all calls.
-- grain: one row a job and distinct stack
-- reads: stack_process, stack_activity
-- public: yes
-- case: kept
-- note: activity is that of the failure (a rank that waits for its DataLoader worker does what that
-- note: does) or, without one, of the stack alone. Calls are compared from the outermost one
-- note: inwards, by function and file, without line numbers; native calls are left out.
create or replace view stack_class as
with dump as (
    select *
    from stack_process
    where kind = 'trainer' and len(calls) > 0
    qualify row_number()
        over (partition by job_id, rank, moment_no order by len(calls) desc, is_json, file_id,
            dump_no)
            = 1
),
stack as (
    select n.job_id, n.rank, n.file_id, n.line_no, n.calls, n.activity,
        coalesce(b.places <> n.places, false) as is_moved,
        coalesce(b.places = n.places, false) as is_still
    from dump as n
    left join dump as b on b.job_id = n.job_id and b.rank = n.rank and b.moment_no = 2
    where n.moment_no = 1
),
class as (
    select
        s.job_id, s.calls,
        list(s.rank order by s.rank) as ranks,
        list(s.rank order by s.rank) filter (where s.is_moved) as moved_ranks,
        list(s.rank order by s.rank) filter (where s.is_still) as still_ranks,
        count(*) as rank_count,
        mode(coalesce(a.activity, s.activity) order by coalesce(a.activity, s.activity))
            as activity,
        arg_min(s.file_id, (s.rank, s.file_id, s.line_no)) as file_id,
        arg_min(s.line_no, (s.rank, s.file_id, s.line_no)) as line_no
    from stack as s
    left join stack_activity as a on a.job_id = s.job_id and a.rank = s.rank
    group by s.job_id, s.calls
),
numbered as (
    select
        *,
        row_number() over place as class_no,
        row_number() over (partition by job_id order by calls) as tree_no,
        lag(calls) over (partition by job_id order by calls) as calls_before,
        first_value(calls) over place as main_calls,
        sum(rank_count) over (partition by job_id) as job_rank_count
    from class
    window place
        as (partition by job_id order by rank_count desc,
            coalesce(activity in ('collective', 'backward'), false) desc, ranks[1])
),
compared as (
    select
        *,
        coalesce(
            list_min(
                list_filter(range(1, len(calls) + 1),
                    lambda i: calls[i] is distinct from main_calls[i])),
            len(calls) + 1)
            as leave_depth,
        coalesce(
            list_min(
                list_filter(range(1, len(calls) + 1),
                    lambda i: calls[i] is distinct from calls_before[i])),
            len(calls) + 1)
            as branch_depth
    from numbered
)
select
    job_id,
    class_no::integer as class_no,
    ranks,
    rank_count,
    class_no > 1 and rank_count * 2 < job_rank_count as is_outlier,
    case when class_no > 1 then coalesce(calls[leave_depth], calls[len(calls)]) end
        as first_difference,
    case when class_no > 1 then (leave_depth - 1)::integer end as common_depth,
    tree_no::integer as tree_no,
    case when tree_no > 1 then (branch_depth - 1)::integer end as shared_depth,
    len(calls)::integer as depth,
    calls[len(calls)] as innermost,
    activity,
    coalesce(moved_ranks, []) as moved_ranks,
    coalesce(still_ranks, []) as still_ranks,
    array_to_string(calls, ' > ') as path,
    file_id,
    line_no
from compared
