-- Ranks whose main threads stood in the same calls when stacks were taken, and where they leave the way of most others.
-- grain: one row a job and distinct stack
-- reads: stack_frame, worker_file, rank_activity
-- public: yes
-- stored: yes
-- empty without: stack_frame
-- note: Calls are compared from the outermost one inwards, by function and file, without line numbers; native calls without a name are left out. Equal stacks do not prove equal positions: a rank may stand in the same call one step further, so compare with what each had enqueued. first_difference is the first call in which a class differs from the largest one; of two dumps of a rank the fuller counts.
create or replace view stack_class as
with call as (
    select
        w.job_id, s.rank, s.file_id, s.dump_no, s.line_no, s.frame_no,
        s.function || coalesce(' (' || regexp_extract(s.source_file, '[^/]+$') || ')', '') as name
    from stack_frame as s
    join worker_file as w on w.file_id = s.file_id
    where s.rank is not null and s.thread_name = 'MainThread' and not regexp_matches(s.function, '^0x[0-9a-f]+$')
),
stack as (
    select job_id, rank, file_id, dump_no, list(name order by frame_no desc) as calls, min(line_no) as line_no
    from call
    group by job_id, rank, file_id, dump_no
    qualify row_number() over (partition by job_id, rank order by count(*) desc, file_id, dump_no) = 1
),
class as (
    select
        s.job_id, s.calls,
        list(s.rank order by s.rank) as ranks,
        count(*) as rank_count,
        min(a.activity) as activity,
        arg_min(s.file_id, (s.rank, s.file_id, s.line_no)) as file_id,
        arg_min(s.line_no, (s.rank, s.file_id, s.line_no)) as line_no
    from stack as s
    left join rank_activity as a on a.job_id = s.job_id and a.rank = s.rank and a.witness = 'stack'
    group by s.job_id, s.calls
),
numbered as (
    select
        *,
        row_number() over (partition by job_id order by rank_count desc, ranks[1]) as class_no,
        first_value(calls) over (partition by job_id order by rank_count desc, ranks[1]) as main_calls,
        sum(rank_count) over (partition by job_id) as job_rank_count
    from class
),
compared as (
    select
        *,
        coalesce(list_min(list_filter(range(1, len(calls) + 1), lambda i: calls[i] is distinct from main_calls[i])), len(calls) + 1) as leave_depth
    from numbered
)
select
    job_id,
    class_no::integer as class_no,
    ranks,
    rank_count,
    class_no > 1 and rank_count * 2 < job_rank_count as is_outlier,
    case when class_no > 1 then coalesce(calls[leave_depth], calls[len(calls)]) end as first_difference,
    case when class_no > 1 then (leave_depth - 1)::integer end as common_depth,
    len(calls)::integer as depth,
    calls[len(calls)] as innermost,
    activity,
    array_to_string(calls, ' > ') as path,
    file_id,
    line_no
from compared
