-- What is not known of the clocks of a failure's worker logs: files that nothing ties to UTC, and a
-- zone given that other logs contradict.
-- grain: one row a failure and doubt
-- reads: failure, worker_file, clock
-- case: yes
create or replace view clock_blind_spot as
with file as (
    select f.failure_id, k.path, k.method, k.timezone, k.against_s, k.evidence,
        regexp_replace(k.path, '(/[^/!]*|!.*)$', '') as folder
    from failure as f
    join worker_file as w on w.job_id = f.job_id and w.kind = 'worker_log'
    join clock as k on k.file_id = w.file_id
)
select
    failure_id,
    8 as position,
    'the clock of ' || count(*)::varchar || ' worker log'
        || case when count(*) > 1 then 's' else '' end as what,
    'no line ties them to UTC; they were taken as UTC, so that moments here may be hours off, and '
        'matches by time are worth less'
        as why,
    'aiscorr ingest --timezone <Area/City> '
        || case when count(*) <= 4 then string_agg(path, ' ' order by path)
            else string_agg(distinct folder, ' ' order by folder) end
        || case when count(*) > 1 then '   # all together: one alone would be hours apart'
            else '' end
            as command,
    true as is_assumed
from file
where method = 'assumed'
group by failure_id
union all
select
    failure_id,
    0 as position,
    'the clock of ' || count(*)::varchar || ' worker log'
        || case when count(*) > 1 then 's' else '' end || ', given as ' || timezone as what,
    'moved by ' || case when against_s > 0 then '-' else '+' end
        || (abs(against_s) // 3600)::varchar || ' h'
        || coalesce(' ' || nullif(abs(against_s) % 3600 // 60, 0)::varchar || ' min', '')
        || ' they would fit the AIStore logs' || coalesce(' (' || min(evidence) || ')', '')
            || '; the zone given is probably not theirs' as why,
    'aiscorr ingest '
        || case when count(*) > 1 and count(distinct folder) = 1 then min(folder) else min(path) end
        || '   # without --timezone, so that the logs tell it' as command,
    false as is_assumed
from file
where against_s is not null
group by failure_id, timezone, against_s
