-- An incident of a training job: when it hung or broke, what the ranks waited in, and what is
-- concluded.
-- grain: one row a failure
-- reads: failure_case, root_cause, worker_event, ais_event, culprit_cause, rank_request,
-- reads: get_batch_chain, node_fault, storage_link, failure_coverage, rank_state, fr_place,
-- reads: confidence_step, threshold
-- public: yes
-- case: kept
-- note: The class, verdict and statement are those of root_cause at place 1; confidence is how
-- note: often answers of that verdict, class and score were right on incidents of known truth
-- note: (confidence_step). failure_id stays the same when more logs of the failure arrive. The
-- note: window begins at the latest with the hang, at the earliest the collective's time-out and
-- note: two minutes before the watchdog spoke; of a job that was cancelled after it stood still it
-- note: begins with the last step. It ends with the job. The first error is that of the verdict's
-- note: evidence (lines of AIStore only where storage failed the job), fault or tries of the very
-- note: object (try_gap_s apart at most; a dated one goes before the earliest begin of a fault),
-- note: or the watchdog's; a dump alone shows no error and no
-- note: end. A line without a time of its own is put at the latest moment that fits, and not after
-- note: the moment the ranks began to wait.
create or replace view failure as
with verdict as (
    from root_cause where place = 1
),
cause as (
    select
        r.failure_id,
        min(c.started_ns) as chain_ns,
        min(n.started_ns) as fault_ns,
        min(n.sign_ns) as sign_ns,
        arg_min(
            case
                when n.is_dated then 'exact'
                when n.fault_kind = 'killed' or n.moment_words is null then 'at_earliest'
                else 'at_latest'
            end, n.sign_ns
        ) as sign_is
    from verdict as r
    left join get_batch_chain as c on c.chain_id = r.chain_id
    left join storage_link as l
        on l.failure_id = r.failure_id and l.node_id = r.node_id and r.storage_verdict = 'guilty'
    left join node_fault as n on n.fault_id = l.fault_id
    group by r.failure_id
),
attempt as (
    select
        u.failure_id, r.from_ns,
        coalesce(lead(r.from_ns) over tries, u.crash_latest_ns) - r.from_ns
            > (select value * 1e9 from threshold where name = 'try_gap_s') as is_apart
    from culprit_cause as u
    left join rank_request as e on e.failure_id = u.failure_id and e.rank = u.witness_rank
        and e.file_id = u.crash_file_id and e.line_no = u.crash_line_no
    join rank_request as r on r.failure_id = u.failure_id and r.rank = u.witness_rank
        and r.outcome in ('retry', 'error', 'missing', 'short')
        and r.stamp_source in ('own', 'wrapper') and r.from_ns <= u.crash_latest_ns
        and (r.object = u.object or r.url = e.url)
    window tries as (partition by u.failure_id, u.witness_rank order by r.from_ns, r.line_no)
),
tried as (
    select failure_id, min(from_ns) as tried_ns
    from attempt as t
    where not exists (
        from attempt as o
        where o.failure_id = t.failure_id and o.from_ns >= t.from_ns and o.is_apart
    )
    group by failure_id
),
cited as (
    select failure_id, storage_verdict, unnest(supports, recursive := true) from verdict
),
said as (
    select c.failure_id, w.utc_ns, w.latest_ns, w.stamp_source in ('own', 'wrapper') as is_own,
        1 as turn
    from cited as c
    join worker_event as w on w.file_id = c.file_id and w.line_no = c.line_no
    where w.role in ('cause', 'symptom', 'retry', 'consequence')
    union all
    select c.failure_id, e.utc_ns, e.utc_ns, true, 1
    from cited as c
    join ais_event as e on e.file_id = c.file_id and e.line_no = c.line_no
    where c.storage_verdict = 'guilty' and (e.severity in ('W', 'E') or e.node_effect is not null)
    union all
    select failure_id, crash_ns, crash_latest_ns,
        crash_ns = crash_latest_ns and is_crash_dated is not false, 2
    from failure_case
    where crash_ns is not null
),
error as (
    select
        f.failure_id,
        case
            when s.is_own then s.utc_ns
            else least(s.latest_ns, greatest(coalesce(f.hang_start_ns, f.stall_ns), s.utc_ns))
        end as fit_ns,
        if(s.turn = 2, greatest(f.low_ns, fit_ns), fit_ns) as error_ns,
        case
            when s.is_own then 'exact'
            when s.turn = 2 or fit_ns > s.utc_ns or fit_ns = s.latest_ns then 'at_latest'
            else 'at_earliest'
        end as error_is,
        s.turn = 1 as is_cited
    from said as s
    join failure_case as f on f.failure_id = s.failure_id
    where coalesce(error_ns >= f.low_ns, error_ns is not null)
    qualify s.turn = min(s.turn) over (partition by f.failure_id)
    union all by name
    select f.failure_id, c.sign_ns as error_ns, c.sign_is as error_is
    from cause as c
    join failure_case as f on f.failure_id = c.failure_id and c.sign_ns >= f.low_ns
    where c.sign_is <> 'at_earliest' or c.failure_id not in (select failure_id from tried)
    union all by name
    select t.failure_id, t.tried_ns as error_ns, 'exact' as error_is
    from tried as t
    join failure_case as f on f.failure_id = t.failure_id and t.tried_ns >= f.low_ns
    union all by name
    select
        failure_id, spoke_ns as error_ns,
        case
            when (crash_ns < crash_latest_ns or is_crash_dated is false)
                and spoke_ns = crash_latest_ns then 'at_latest'
            when is_spoke_dated is false then 'at_earliest'
            else 'exact'
        end as error_is
    from failure_case
    where spoke_ns is not null and is_spoke_inferred is not true
),
first as (
    select
        failure_id, min(error_ns) as error_ns,
        arg_min(error_is, (error_ns, is_cited is not true, error_is <> 'exact', error_is))
            as error_is
    from error
    group by failure_id
),
culprits as (
    select failure_id, list(rank order by rank) as ranks
    from rank_state
    where role = 'culprit'
    group by failure_id
)
select
    f.failure_id,
    f.job_id,
    f.attempt,
    coalesce(r.failure_class, 'undetermined') as failure_class,
    r.failure_kind,
    coalesce(r.storage_verdict, 'undetermined') as storage_verdict,
    least(
        case when f.stood_ns is not null and r.failure_class <> 'undetermined' then h.value
            else 1 end,
        coalesce(
            (select arg_max(s.confidence, (s.failure_classes is not null, s.score_from))
                from confidence_step as s
                where s.storage_verdict = r.storage_verdict and s.score_from <= r.score
                    and coalesce(list_contains(s.failure_classes, r.failure_class), true)),
            0.0))::double
        as confidence,
    coalesce(r.statement, 'The job failed and no rule applies') as statement,
    coalesce(u.ranks, []) as culprit_ranks,
    make_timestamp_ns(f.hang_start_ns) as hang_started_at,
    make_timestamp_ns(e.error_ns) as first_error_at,
    e.error_is as first_error_at_is,
    case when f.ended_ns >= f.spoke_ns or f.is_spoke_inferred is not true and f.ended_ns is not null
        then make_timestamp_ns(greatest(f.ended_ns, f.spoke_ns)) end
        as ended_at,
    make_timestamp_ns(greatest(
        f.low_ns,
        least(f.stall_ns, f.hang_start_ns, c.chain_ns, c.fault_ns, t.tried_ns, f.spoke_ns,
            case when f.hang_start_ns is null and f.crash_ns is null then f.idle_from_ns end)
    )) as window_started_at,
    make_timestamp_ns(greatest(f.ended_ns, f.spoke_ns)) as window_ended_at,
    f.process_group,
    f.seq_num,
    f.op_type,
    f.numel_in,
    f.numel_out,
    f.timeout_ms,
    f.ran_for_ms,
    f.user_location,
    v.cluster,
    coalesce(v.covered_ratio, 0.0) as storage_coverage_ratio,
    f.file_id,
    case when p.file_id is null then f.line_no end as line_no,
    p.locator
from failure_case as f
join threshold as h on h.name = 'stack_confidence'
left join verdict as r on r.failure_id = f.failure_id
left join cause as c on c.failure_id = f.failure_id
left join tried as t on t.failure_id = f.failure_id
left join first as e on e.failure_id = f.failure_id
left join failure_coverage as v on v.failure_id = f.failure_id
left join culprits as u on u.failure_id = f.failure_id
left join fr_place as p on p.file_id = f.file_id and p.place_no = f.line_no
