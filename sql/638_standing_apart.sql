-- Ranks whose stacks stand apart while others of the job wait in a collective, where no failure of
-- the job is known: it may hang now.
-- grain: one row a job and class of such stacks
-- reads: stack_class, failure, source_file
-- public: yes
-- case: kept
-- note: One set of stacks does not prove a hang: in a healthy job, too, some wait while one loads
-- note: data. Who stands at the same place in a second set, a minute later, keeps the others
-- note: waiting. is_still: all of these ranks stood there the time before, too; is_moved: all stood
-- note: elsewhere.
create or replace view standing_apart as
with waiting as (
    select
        job_id,
        sum(rank_count) filter (where activity = 'collective') as waiting_count,
        arg_max(innermost, rank_count) filter (where activity = 'collective') as waiting_in,
        sum(rank_count) as seen_count
    from stack_class
    group by job_id
)
select
    c.job_id,
    c.class_no,
    c.ranks,
    c.rank_count,
    c.innermost,
    c.activity,
    len(c.moved_ranks) = c.rank_count as is_moved,
    len(c.still_ranks) = c.rank_count as is_still,
    w.waiting_count::integer as waiting_count,
    w.waiting_in,
    case when c.rank_count = 1 then 'Rank ' || c.ranks[1]::varchar || ' is'
        else c.rank_count::varchar || ' ranks (' || array_to_string(c.ranks[1:8], ', ')
            || case when c.rank_count > 8 then ', …' else '' end || ') are' end
        || ' in ' || c.innermost || ' while ' || w.waiting_count::varchar
            || case when w.waiting_count = 1 then ' rank waits' else ' ranks wait' end || ' in '
            || w.waiting_in
        || case when is_still then ', as when stacks were taken before'
            when is_moved then '; elsewhere when stacks were taken before' else '' end
            as statement,
    f.path,
    c.file_id,
    c.line_no
from stack_class as c
join waiting as w on w.job_id = c.job_id
join source_file as f on f.file_id = c.file_id
where c.activity is distinct from 'collective'
    and c.rank_count * 2 < w.seen_count
    and w.waiting_count * 2 >= w.seen_count
    and c.job_id not in (select job_id from failure where job_id is not null)
