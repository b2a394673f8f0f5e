-- Advice that needs AIStore's side: where to look for a guilt that has a kind of its own or an
-- address that refused, and what befell a storage that is not guilty.
-- grain: one row a failure and advice
-- reads: failure_lead, root_cause, failure_signal, failure_node, node_fault, failure_counter_delta,
-- reads: fault_kind, failure_kind, bucket_change
-- case: yes
create or replace view storage_advice as
with lead as (
    select l.*, r.storage_verdict, r.failure_class, r.failure_kind, r.node_id as told_node_id
    from failure_lead as l join root_cause as r on r.failure_id = l.failure_id and r.place = 1
),
befell as (
    select
        l.failure_id,
        n.role || ' ' || n.node_id || ' ' || k.broke_words || coalesce(' ' || n.moment_words,
            strftime(make_timestamp_ns(n.started_ns)::timestamp, ' at %H:%M:%S UTC')) as words,
        coalesce(l.stall_ns between n.started_ns and n.ended_ns, false) as is_on,
        l.stall_ns < n.known_ns as is_maybe,
        row_number()
            over (partition by l.failure_id
                order by is_on and l.storage_verdict = 'undetermined' desc, n.weight desc,
                n.started_ns, n.node_id, n.fault_kind)
                as fault_no,
        count(*) over (partition by l.failure_id) as fault_count
    from lead as l
    join node_fault as n on n.cluster = l.cluster and n.weight >= 0.5 and n.started_ns <= l.ended_ns
        and n.ended_ns >= l.started_ns
    join fault_kind as k on k.fault_kind = n.fault_kind
    where l.storage_verdict <> 'guilty'
),
repeated as (
    select l.failure_id, count(*) as line_count
    from lead as l
        join failure_signal as s on s.job_id = l.job_id and s.attempt = l.attempt
            and s.signal = 'retry'
    group by l.failure_id
),
aside as (
    select
        l.failure_id, l.storage_verdict = 'innocent' as is_cleared,
        case when l.failure_class = 'data'
            and l.crash_content is distinct from 'absent'
                then nullif(
                    rtrim(regexp_extract(l.crash_text, '\bais://[\w.-]+/[^\s''",)]+'), ':.'),
                    '') end
            as object,
        b.words, b.is_on, b.is_maybe, b.fault_count - 1 as more_count,
        if(is_cleared, coalesce(r.line_count, 0), 0) as retry_count
    from lead as l
    left join befell as b on b.failure_id = l.failure_id and b.fault_no = 1
    left join repeated as r on r.failure_id = l.failure_id
    where (l.storage_verdict = 'innocent' and l.is_storage_seen)
        or (l.storage_verdict = 'undetermined' and b.is_on)
)
select failure_id, 2 as position, 'storage' as recipient,
    case when words is null
        and retry_count = 0
            then coalesce(
                'Nothing failed, but compare what is stored with its origin: ais object show '
                || object || ' --props all',
                case when failure_id in (select failure_id from failure_counter_delta
                    where is_error and counter like '%.n' and inside > 0)
                    then 'Nothing to do for this job: no fault fits it, and no line ties to it the '
                        'errors that grew meanwhile (aiscorr query @counters).'
                    else 'Nothing to do: storage answered as it should.' end)
        else case when words is null then 'Look at this: '
                when is_cleared then 'Not the cause, but look at it: '
                else 'Look at it, nothing acquits it: ' end
            || concat_ws('; ',
                words || if(more_count > 0,
                    ' (and ' || more_count::varchar || ' more: aiscorr query @faults)', ''),
                if(retry_count > 0, 'the job repeated requests (' || retry_count::varchar
                    || ' lines: aiscorr query @retries)', null))
                || '.'
    end as text,
    case when words is null
        and retry_count = 0
            then case when object is not null then 'the logs do not say who wrote it; ' else '' end
            || 'the AIStore logs cover the failure and nothing in them fits it'
        when words is null then 'nothing that befell AIStore fits them'
        when is_on then if(is_maybe, 'it may have been so', 'it was so')
            || ' when the ranks stopped, and nothing ties what stopped them to it'
        else 'it fits neither the moment nor the place where the ranks stopped' end as why
from aside
union all
select l.failure_id, 1, 'storage', 'Look at this: ' || k.look_at || '.', rtrim(k.says, '.')
from lead as l join failure_kind as k on k.failure_kind = l.failure_kind
    where case l.failure_kind when 'node_refused' then true
        when 'chain' then l.storage_verdict = 'undetermined'
        else l.storage_verdict = 'guilty' end
union all
select l.failure_id, 1, 'storage', 'Look at this: ' || k.look_at || '.', c.says from lead as l
    join bucket_change as c on c.failure_id = l.failure_id
    join failure_kind as k on k.failure_kind = 'bucket_changed'
    where l.storage_verdict = 'undetermined'
union all
select l.failure_id, 1, 'storage', k.advice, 'AIStore ' || k.broke_words from lead as l
    join fault_kind as k on k.fault_kind = l.failure_kind
    where l.storage_verdict = 'guilty' and l.failure_id not in (select failure_id from failure_node)
