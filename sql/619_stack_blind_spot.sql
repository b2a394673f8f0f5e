-- What the stacks of a failure leave open: all alike, some missing, or the odd one in motion.
-- grain: one row a failure and open question
-- reads: failure_case, failed_rank, culprit, stack_class, stack_process
-- case: yes
-- note: Stacks that are all alike cannot tell who was late; that is said where nothing else names a
-- note: rank.
create or replace view stack_blind_spot as
with class as (
    select job_id, count(*) as class_count, sum(rank_count) as rank_count,
        arg_min(innermost, class_no) as innermost, flatten(list(ranks)) as ranks,
        flatten(list(moved_ranks)) as moved_ranks
    from stack_class
    group by job_id
),
case_of as (
    select f.failure_id, f.job_id, f.attempt, s.class_count, s.rank_count, s.innermost, s.ranks,
        s.moved_ranks,
        (select list(c.rank order by c.rank) from culprit as c
            where c.job_id = f.job_id and c.attempt = f.attempt)
            as culprits,
        (select list(r.rank order by r.rank) from failed_rank as r
            where r.job_id = f.job_id and r.attempt = f.attempt
                and not list_contains(s.ranks, r.rank))
            as missing
    from failure_case as f
    join class as s on s.job_id = f.job_id
),
worker as (
    select job_id, rank, count(*) filter (where kind = 'worker') as worker_count,
        bool_or(kind = 'trainer' and moment_no = 1 and activity = 'worker_wait') as is_waiting
    from stack_process
    group by job_id, rank
)
select
    failure_id,
    'who was late, by the stacks' as what,
    'all ' || rank_count::varchar || ' stacks are in the same call (' || innermost
        || '): they cannot tell, and equal stacks prove no equal positions, since a rank may be '
            'there one step further'
            as why,
    'aiscorr collect dumps   # what each rank had enqueued, while it hangs' as command
from case_of
where class_count = 1 and rank_count > 1 and culprits is null
union all
select
    failure_id,
    'the stack of rank ' || array_to_string(missing[1:12], ', ')
        || case when len(missing) > 12 then ' and ' || (len(missing) - 12)::varchar || ' more'
            else '' end
            as what,
    'stacks of ' || rank_count::varchar
        || ' other ranks are available; a rank whose process is gone or cannot be looked into has '
            'none'
            as why,
    'aiscorr collect stacks   # it names the ranks it cannot reach, while it hangs' as command
from case_of
where len(missing) > 0 and (culprits is null or list_has_any(culprits, missing))
union all
select
    failure_id,
    'whether rank ' || m.rank::varchar || ' was stuck or slow' as what,
    'its stack changed between two dumps: it went on meanwhile, so that it is slow rather than '
        'stuck'
        as why,
    'aiscorr collect stacks   # again, 30 s later: what is in both is what it waits for'
        as command
from (select failure_id, unnest(list_intersect(culprits, moved_ranks)) as rank from case_of) as m
union all
select
    failure_id,
    'what kept rank ' || array_to_string(moved_ranks[1:12], ', ') || ' before' as what,
    'in the dump before it was elsewhere than the others, with whom it is now: it may have '
        'come late'
        as why,
    'aiscorr query @stacks   # and the dumps before, in their files' as command
from case_of
where class_count = 1 and len(moved_ranks) > 0 and len(moved_ranks) * 2 < rank_count
    and culprits is null
union all
select
    c.failure_id,
    'what the DataLoader workers of rank ' || w.rank::varchar || ' were doing' as what,
    'its stack waits for them, and theirs are not available' as why,
    'aiscorr collect stacks   # it takes the workers too, while it hangs' as command
from (select failure_id, job_id, unnest(culprits) as rank from case_of) as c
join worker as w on w.job_id = c.job_id and w.rank = c.rank and w.is_waiting and w.worker_count = 0
