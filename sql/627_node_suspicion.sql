-- A fault of an AIStore node that is not held responsible for a failure: ruled out, or not judged.
-- grain: one row a failure and fault of a node
-- reads: failure, failure_case, failure_lead, root_cause, failure_node, job_cluster, node_fault,
-- reads: fault_kind, storage_relation, failed_rank, asked_node, threshold
-- case: kept
-- note: is_open: the fault was on when the ranks stopped, nothing speaks against it, and the
-- note: verdict leaves storage open, or the rank asked that node too: what is missing to tie it is
-- note: named. What was over before the first error had ended: who tries again stops later. A
-- note: moment without decimals is anywhere in its second. The SDK's own errors are never of
-- note: another kind than a fault of AIStore.
create or replace view node_suspicion as
with case_span as (
    select
        f.failure_id, f.job_id, f.attempt, f.started_ns, f.stall_ns, f.ended_ns, r.storage_verdict,
        least(f.stall_ns, epoch_ns(x.first_error_at)) as error_ns,
        f.stall_ns + case when f.stall_ns % 1000000000 = 0 then 999999999 else 0 end as stall_to_ns,
        r.node_id as tied_node_id,
        l.culprit_rank, l.crash_pattern, coalesce(l.exception, l.crash_pattern) as error_words,
        coalesce(l.activity, 'unknown') as activity,
        l.crash_pattern is not null and coalesce(s.time_weight, 0.0) < 0.5
            and not regexp_matches(l.crash_pattern, '^(sdk|lhotse)_')
            and not regexp_matches(coalesce(l.exception, ''), 'aistore|^AIS') as is_other_error,
        l.crash_pattern is null and coalesce(l.activity, 'unknown') <> 'unknown'
            and coalesce(s.time_weight, 0.0) < 0.5 as is_other_work,
        coalesce(a.is_absent, false) as is_absent
    from failure_case as f
    left join failure as x on x.failure_id = f.failure_id
    join failure_lead as l on l.failure_id = f.failure_id
    join root_cause as r on r.failure_id = f.failure_id and r.place = 1
    left join storage_relation as s on s.failure_id = f.failure_id
        and s.rank is not distinct from l.culprit_rank
    left join failed_rank as a on a.job_id = f.job_id and a.attempt = f.attempt
        and a.rank = l.culprit_rank
),
met as (
    select
        f.*, n.role, n.node_id, k.broke_words, n.weight, n.started_at, n.ended_at,
        n.last_sign_at, n.detail, n.file_id, n.line_no, n.moment_words,
        if(n.known_ns > f.stall_to_ns, 'it may have been on', 'it was on') as on_words,
        (f.stall_ns - n.known_ns) // 1000000000 as outlived_s, p.value as felt_s,
        greatest(n.ended_ns, epoch_ns(n.ended_at)) as fault_end_ns, n.started_ns as fault_start_ns,
        fault_end_ns >= f.stall_ns and n.started_ns <= f.stall_to_ns as is_on,
        is_on and not f.is_other_error
            and not f.is_other_work and n.weight >= 0.3
            and (f.storage_verdict = 'undetermined' or a.node_id is not null) as is_open
    from case_span as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join node_fault as n on n.cluster = c.cluster and n.weight >= 0.2
        and n.fault_kind not in ('batches_aborted', 'jobs_refused') and n.started_ns <= f.ended_ns
        and n.ended_ns >= f.started_ns
    join fault_kind as k on k.fault_kind = n.fault_kind
    join threshold as p on p.name = 'felt_after_s'
    left join (select distinct failure_id, rank, node_id from asked_node) as a
        on a.failure_id = f.failure_id and a.rank = f.culprit_rank and a.node_id = n.node_id
        and f.storage_verdict = 'guilty'
    where not exists (select 1 from failure_node as g
        where g.failure_id = f.failure_id and g.node_id = n.node_id)
        and not (f.storage_verdict = 'guilty'
            and n.fault_kind in ('rebalance', 'resilver', 'primary_change'))
)
select
    failure_id,
    is_open,
    role || ' ' || node_id || ' ' || broke_words
        || ' (' || coalesce(detail || '; ', '')
        || coalesce(regexp_replace(moment_words, ' UTC.*', ''), if(ended_at is null, 'from ', '')
            || strftime(started_at::timestamp, '%H:%M:%S'))
        || coalesce(if(moment_words is null, ' to ', ', over at ')
            || strftime(ended_at::timestamp, '%H:%M:%S') || ' UTC)',
            ' UTC; no line shows its end)')
        as what,
    case
        when fault_end_ns < error_ns then
            if(ended_at is null, 'it was last seen ', 'it had ended ')
            || ((stall_ns - epoch_ns(coalesce(ended_at, last_sign_at))) // 1000000000)::varchar
            || ' s before the ranks stopped at '
            || strftime(make_timestamp_ns(stall_ns)::timestamp, '%H:%M:%S')
        when fault_start_ns > stall_to_ns then 'it began '
            || ((fault_start_ns - stall_ns) // 1000000000)::varchar
            || ' s after the ranks stopped at '
            || strftime(make_timestamp_ns(stall_ns)::timestamp, '%H:%M:%S')
        when is_other_error then 'the rank failed with an error of another kind: ' || error_words
        when is_other_work then 'the rank was doing something else: ' || replace(activity, '_', ' ')
        when is_open and storage_verdict = 'guilty'
            then coalesce('the failure is linked to ' || tied_node_id || ', and ', '')
                || 'rank ' || culprit_rank::varchar || ' asked this node as well'
        when is_open
            and culprit_rank is null
                then on_words || ' when the ranks stopped, and these logs do not tell which '
                    'rank it was that held up the others'
        when is_open
            and is_absent then on_words || ' when rank ' || culprit_rank::varchar
                || ' stopped, and no line of that rank is available'
        when is_open
            and crash_pattern is not null then on_words || ' when rank ' || culprit_rank::varchar
                || ' failed with ' || error_words || ', and no line links the two or parts them'
        when is_open then on_words || ' when rank ' || culprit_rank::varchar
            || ' stopped, and no line links the two or parts them'
        when storage_verdict = 'guilty'
            and tied_node_id is not null then 'the failure is linked to ' || tied_node_id
                || ', and no line links it to this node'
                || case when outlived_s >= felt_s
                    then '; the ranks went on for ' || outlived_s::varchar || ' s after it began'
                    else '' end
        else 'no line links it to the rank that held up the others'
    end as because,
    node_id,
    file_id,
    line_no
from met
