-- A Flight Recorder dump that a failure lacks: a member's that is missing, or a file that cannot be
-- used.
-- grain: one row a failure and missing or useless dump
-- reads: failure, fr_failure, fr_dump
-- case: yes
-- note: The rank whose dump is missing while all others wait alike is a suspect, not proven: the
-- note: entries of the others stay good.
create or replace view fr_blind_spot as
select
    b.failure_id,
    'the Flight Recorder dump of rank ' || d.rank::varchar as what,
    'the others wait alike in ' || coalesce(d.op_type, 'a collective')
        || coalesce(' number ' || d.seq_num::varchar, '')
        || '; this rank is a suspect, and only its dump, stack or log can prove it' as why,
    'aiscorr ingest <dump of rank ' || d.rank::varchar
        || '>   # or py-spy dump --pid <its pid>, while it hangs' as command
from failure as b
join (select job_id, attempt, outcome, op_type, seq_num, unnest(missing_ranks) as rank
    from fr_failure)
    as d
    on d.job_id = b.job_id
    and d.attempt = b.attempt
where d.outcome = 'dump_missing'
union all
select
    b.failure_id,
    'the dump ' || regexp_extract(d.path, '([^/!]+)$', 1) as what,
    case d.state
        when 'earlier_run' then 'its times are those of an earlier run'
        when 'no_rank' then 'neither its name nor its groups tell the rank'
        else coalesce(d.problem, 'it cannot be read')
    end as why,
    'aiscorr ingest <the dump of this run>' as command
from failure as b
join fr_dump as d on d.job_id = b.job_id and d.state in ('earlier_run', 'no_rank', 'unreadable')
