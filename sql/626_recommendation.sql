-- What to do about a failure: to whom, what, why.
-- grain: one row a failure and advice
-- reads: failure_lead, failure_comeback, storage_advice, failure_node, fault_kind, failure_signal,
-- reads: pattern, root_cause, activity, failure_class, failure_kind, fr_failure
-- public: yes
-- case: kept
-- note: "to" is storage, client or training. Where storage failed a job, what helps against bad
-- note: data or a mistake of the program would mislead, and what the error means is known. Missing
-- note: read time-outs, silent short batches and the fallback to single reads are matters of the
-- note: client.
create or replace view recommendation as
with lead as (
    select l.*, r.storage_verdict, r.failure_class, r.failure_kind
    from failure_lead as l
    join root_cause as r on r.failure_id = l.failure_id and r.place = 1
),
seen as (
    select l.failure_id, s.pattern, min(p.title) as title, min(p.fix) as fix,
        min(p.failure_class) as failure_class, count(*) as line_count,
        count(distinct s.rank) as rank_count
    from lead as l
    join failure_signal as s on s.job_id = l.job_id and s.attempt = l.attempt
    join pattern as p on p.pattern = s.pattern and p.format = 'worker'
    group by l.failure_id, s.pattern
),
every as (
    select distinct n.failure_id, 1 as position, 'storage' as recipient, k.advice as text,
        coalesce(n.role, 'node') || ' ' || n.node_id || ' ' || k.broke_words
            || coalesce('; it was back at '
                || strftime(make_timestamp_ns(b.back_ns)::timestamp, '%H:%M:%S') || ' UTC',
                '')
                as why
    from failure_node as n
    left join failure_comeback as b on b.failure_id = n.failure_id and b.node_id = n.node_id
    join lead as l on l.failure_id = n.failure_id
    join fault_kind as k on k.fault_kind = coalesce(l.fault_kind, '')
    union all
    select failure_id, position, recipient, text, why from storage_advice
    union all
    select l.failure_id, 3,
        coalesce(
            case when l.storage_verdict <> 'innocent' or p.fix_by <> 'storage' then p.fix_by end,
            case when coalesce(l.crash_class, l.alike_class)
                in ('storage_io', 'data_loading_stall', 'network') then 'client'
                else 'training' end),
        p.fix,
        case when p.pattern = l.crash_pattern and l.culprit_rank is not null
            then 'the first error of rank ' || l.culprit_rank::varchar || ': '
            when p.pattern = l.alike_pattern and l.is_plural
            then l.alike_count::varchar || ' ranks failed alike: '
            when p.pattern in (l.crash_pattern, l.alike_pattern) then 'the first error: '
            else '' end
            || p.title
    from lead as l
    join pattern as p on p.format = 'worker'
        and p.pattern in (l.failure_kind, l.crash_pattern,
            case when l.culprit_rank is null then l.alike_pattern end)
    where p.fix is not null
        and not ((l.storage_verdict = 'guilty'
                or l.failure_id in (select failure_id from storage_advice where position = 1))
            and (coalesce(p.failure_class, '') in ('data', 'software')
                or contains(p.fix, 'a pattern of your own')))
        and (p.fix_by is distinct from 'storage'
            or not exists (from failure_comeback as b
                where b.failure_id = l.failure_id and b.back_ns is not null))
    qualify row_number() over (partition by l.failure_id order by p.pattern = l.failure_kind desc,
        p.pattern = l.crash_pattern desc) = 1
    union all
    select failure_id, 2, 'client',
        'Compare the names that the batch asked for with what the bucket holds (the manifest, ais '
            'ls): entries of it are not there.',
        'entries were missing, and no node was in trouble'
        from lead where failure_kind = 'entries_missing'
    union all
    select failure_id, 4, 'client',
        'Give requests a time-out below the collective''s ('
            || coalesce((timeout_ms // 1000)::varchar || ' s', 'its time-out')
            || '), so that a stuck one becomes an error with a name instead of a silent hang.',
        'rank ' || culprit_rank::varchar || ' hung without an error of its own'
    from lead
        where crash_pattern is null and culprit_rank is not null
            and failure_class in ('data_loading_stall', 'storage_io')
            and activity is distinct from 'decoding'
            and activity is distinct from 'batch_preparation'
    union all
    select failure_id, 5, 'client',
        'Check that a batch is complete before it is used: a streamed batch that breaks off ends '
            'with status 200 and fewer entries.',
        received_count::varchar || ' of ' || coalesce(expected_count::varchar, '?')
            || ' entries came, without an error'
    from lead
        where received_count is not null
            and received_count < coalesce(expected_count, received_count + 1)
            and not regexp_matches(coalesce(crash_message, ''), '\b' || received_count || '\b')
    union all
    select c.failure_id, 5, 'client',
        'Let the client ask again for longer than the cluster map needs to lose a node (SDK retry '
            'settings, the loop around the loader).',
        'its last request met ' || c.node_id || ' up to '
            || round((c.asked_ns - c.gone_ns) / 1e9)::integer::varchar
            || ' s after the node was gone; AIStore took it off the map after up to '
            || round((c.removed_ns - c.gone_ns) / 1e9)::integer::varchar || ' s'
    from failure_comeback as c
    join lead as l on l.failure_id = c.failure_id and l.crash_pattern is not null
    where c.asked_ns >= c.gone_ns and c.asked_ns < c.removed_ns and exists (from failure_signal as s
        where s.job_id = l.job_id and s.attempt = l.attempt and s.signal = 'retry')
    union all
    select failure_id, 6, 'client',
        'A fallback to reading entry by entry hides a broken GetBatch and multiplies the requests: '
            'log it as an error and count it.',
        title || ' (' || line_count::varchar || if(line_count = 1, ' line)', ' lines)')
    from seen
    where pattern
        in ('lhotse_sequential_fallback', 'lhotse_mossout_bck', 'lhotse_read_suppressed',
            'sdk_sample_skipped', 'webdataset_sample_skipped')
    union all
    select failure_id, 7, 'training',
        'Let a rank that failed end its process at once (daemon threads, os._exit after logging): '
            'the others then stop within seconds and not at the time-out.',
        'rank ' || culprit_rank::varchar || ' failed '
            || ((spoke_ns - hang_start_ns) // 1000000000)::varchar
            || ' s before the watchdog spoke, and its process lived on'
    from lead
    where culprit_rank is not null and crash_pattern is not null and timeout_count > 0
        and (coalesce(crash_latest_ns, crash_ns) <= hang_start_ns + 3000000000
            or not exists (from fault_kind as k where k.fault_kind = lead.fault_kind
                and k.takes_away and not k.is_refusing))
        and crash_ns <= hang_start_ns + 3000000000
        and spoke_ns - hang_start_ns > 10000000000
    union all
    select failure_id, 8, 'training', fix,
        title || ' (' || line_count::varchar || if(line_count = 1, ' line)', ' lines)')
    from seen
    where failure_class in ('gpu', 'infrastructure') and fix is not null
        and pattern not in (select crash_pattern from lead where crash_pattern is not null)
        and not (ends_with(pattern, '_killed')
            and failure_id in (select failure_id from lead where kill_doubt is not null))
    union all
    select failure_id, 3, 'training',
        'Find out who sent the signal (sacct, dmesg -T on the host), and look at what the job '
            'waited in before: the suspects.',
        kill_doubt
    from lead
    where kill_doubt is not null and failure_class = 'infrastructure'
        and storage_verdict = 'undetermined'
    union all
    select l.failure_id, 9,
        case when l.failure_class = 'data_loading_stall' then 'client' else 'training' end,
        a.advice,
        case
            when a.activity = 'unknown' then 'nothing tells what rank ' || l.culprit_rank::varchar
                || ' was doing'
            else 'rank ' || l.culprit_rank::varchar || ' was last seen ' || a.meaning end
    from lead as l
    join activity as a on a.activity = coalesce(l.activity, 'unknown')
    where l.culprit_rank is not null and l.crash_pattern is null
        and l.failure_class in ('rank_hang', 'data_loading_stall', 'undetermined')
        and not (l.failure_class = 'data_loading_stall' and a.activity = 'storage_wait')
        and coalesce(l.failure_kind, '') not in ('own_code', 'rank_log_missing')
    union all
    select l.failure_id, 9, 'training', 'Look at ' || k.look_at || '.',
        'the stack of rank ' || l.culprit_rank::varchar || ' is at ' || l.activity_text
    from lead as l
    join failure_kind as k on k.failure_kind = l.failure_kind
    where l.failure_kind = 'own_code'
    union all
    select l.failure_id, 10,
        case when l.failure_class = 'data_loading_stall' then 'client' else 'training' end,
        'Look at ' || c.look_at || '.', 'class ' || l.failure_class
    from lead as l join failure_class as c on c.failure_class = l.failure_class
    where l.failure_class not in ('storage_io', 'undetermined')
    union all
    select l.failure_id, 11, 'training',
        'Look at the calls of all ranks side by side: aiscorr query @collectives',
        'the Flight Recorder dumps are the only witness'
    from lead as l join fr_failure as d on d.job_id = l.job_id and d.attempt = l.attempt
        where l.timeout_count = 0
)
select failure_id, position, recipient as "to", text, why
from every as e
where position <> 10
    or not exists (select 1 from every as o
        where o.failure_id = e.failure_id and o.position between 3 and 9)
qualify row_number() over (partition by failure_id, recipient, text order by position) = 1
