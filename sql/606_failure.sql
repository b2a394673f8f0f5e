-- An incident of a training job: when it hung or broke, what the ranks waited in, and what is
-- concluded.
-- grain: one row a failure
-- reads: failure_case, root_cause, failure_window, failure_coverage, rank_state, fr_place,
-- reads: confidence_step, threshold
-- public: yes
-- case: kept
-- note: The class, verdict and statement are those of root_cause at place 1; confidence is how
-- note: often answers of that verdict, class and score were right on incidents of known truth
-- note: (confidence_step). The window runs from the first thing that belongs to the failure to the
-- note: job's end. failure_id stays the same when more logs of the failure arrive.
create or replace view failure as
with culprits as (
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
    coalesce(c.ranks, []) as culprit_ranks,
    make_timestamp_ns(f.hang_start_ns) as hang_started_at,
    make_timestamp_ns(w.first_error_ns) as first_error_at,
    w.first_error_is as first_error_at_is,
    case when f.ended_ns is not null then make_timestamp_ns(w.ended_ns) end as ended_at,
    make_timestamp_ns(w.started_ns) as window_started_at,
    make_timestamp_ns(w.ended_ns) as window_ended_at,
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
join failure_window as w on w.failure_id = f.failure_id
join threshold as h on h.name = 'stack_confidence'
left join root_cause as r on r.failure_id = f.failure_id and r.place = 1
left join failure_coverage as v on v.failure_id = f.failure_id
left join culprits as c on c.failure_id = f.failure_id
left join fr_place as p on p.file_id = f.file_id and p.place_no = f.line_no
