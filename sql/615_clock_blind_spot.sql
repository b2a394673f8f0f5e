-- What is not known of the clocks of a failure's worker logs: files that nothing ties to UTC, a
-- zone given that other logs contradict, and hosts whose clocks cannot both be right.
-- grain: one row a failure and doubt
-- reads: failure, worker_file, clock, ingested_file, rank_crash, failure_signal, threshold
-- case: yes
-- note: Nobody loses a peer before that one failed: where a log has it so, its host's clock and the
-- note: peer's are apart, or another rank had failed first.
create or replace view clock_blind_spot as
with file as (
    select f.failure_id, k.path, k.method, k.timezone, k.against_s, k.evidence,
        regexp_replace(k.path, '(/[^/!]*|!.*)$', '') as folder
    from failure as f
    join worker_file as w on w.job_id = f.job_id and w.kind = 'worker_log'
    join clock as k on k.file_id = w.file_id
),
outermost as (
    select f.failure_id, f.folder, string_split(f.folder, '/') as parts
    from (select distinct failure_id, folder from file where method = 'assumed') as f
    where not exists (
            select 1 from file as o
            where o.failure_id = f.failure_id and o.method = 'assumed'
                and starts_with(f.folder, o.folder || '/')
        )
),
above as (
    select o.failure_id, array_to_string(o.parts[1:n.depth], '/') as folder
    from outermost as o
    join range(3, 64) as n(depth) on n.depth <= len(o.parts)
),
shared as (
    select a.failure_id, a.folder
    from above as a
    where not exists (
            select 1 from ingested_file as i
            where i.kind = 'ais_log' and starts_with(i.path, a.folder || '/')
        )
    group by a.failure_id, a.folder
    having count(*) = (select count(*) from outermost as o where o.failure_id = a.failure_id)
    qualify row_number() over (partition by a.failure_id order by length(a.folder) desc) = 1
)
select
    failure_id,
    8 as position,
    'the clock of ' || count(*)::varchar || ' worker log'
        || case when count(*) > 1 then 's' else '' end as what,
    'no line shows the time zone; UTC is assumed, so that moments here may be hours off, and '
        'matches by time are worth less'
        as why,
    'aiscorr ingest --timezone <Area/City> '
        || case when count(*) <= 4 then string_agg(path, ' ' order by path)
            else coalesce(
                (select s.folder from shared as s where s.failure_id = file.failure_id),
                (select string_agg(o.folder, ' ' order by o.folder)
                    from outermost as o where o.failure_id = file.failure_id)) end
        || case when count(*) > 1 then '   # all together: one alone would be hours apart'
            else '' end
            as command
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
        || '   # without --timezone, so that the logs tell it' as command
from file
where against_s is not null
group by failure_id, timezone, against_s
union all
select
    f.failure_id,
    7 as position,
    'the clocks of the hosts of ranks ' || min(v.rank)::varchar || ' and ' || c.rank::varchar
        as what,
    'rank ' || min(v.rank)::varchar || ' lost a peer '
        || ((c.utc_ns - max(v.latest_ns)) // 1000000000)::varchar || ' s before rank '
        || c.rank::varchar || ' can have failed by its own log, so that these clocks are as much '
            'apart, or another rank failed first'
        as why,
    'chronyc tracking   # on both hosts' as command
from failure as f
join rank_crash as c on c.job_id = f.job_id and c.attempt = f.attempt
    and len(f.culprit_ranks) = 1 and c.rank = f.culprit_ranks[1]
join failure_signal as v on v.job_id = f.job_id and v.attempt = f.attempt and v.is_peer_lost
    and v.signal = 'victim' and v.rank <> c.rank and v.file_id <> c.file_id
join threshold as t on t.name = 'fault_slack_s'
where c.signal = 'crash'
group by f.failure_id, c.rank, c.utc_ns, t.value
having max(v.latest_ns) < c.utc_ns - t.value * 1000000000
