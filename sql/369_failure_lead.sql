-- A failure with what its rules need: the leading culprit, the strongest tie to storage, how much
-- of AIStore's side is available.
-- grain: one row a failure
-- reads: failure_case, culprit_cause, culprit_name, storage_link, failure_coverage, failed_rank,
-- reads: rank_position, rank_crash, failure_signal, suspect_basis, link_kind, activity,
-- reads: last_step, node_fault, fault_kind, threshold
-- case: yes
-- note: kill_doubt: why a plain SIGKILL (no line tells of memory) may have ended what hung: the job
-- note: had made no step for long (hang_gap_s and five steps), or nobody waited in vain for it and
-- note: no line tells when it came.
-- note: is_tie_proven: a name that stands on both sides ties the rank to the node, however few logs
-- note: of AIStore are available; a tie is seen where they are, or where it is to a node that was
-- note: surely away. alike: the error most ranks crashed with; where no crash names a
-- note: rank (up to PyTorch 2.2), the error that was printed most; so many are ranks only where the
-- note: job has as many, and nothing else is told to be first.
create or replace view failure_lead as
with lead_culprit as (
    from culprit_cause where culprit_no = 1
),
top_link as (
    from storage_link
    where node_id is not null
    qualify row_number()
        over (partition by failure_id order by score desc, is_suspect_known desc,
            (link_kind = 'chain_wid') desc, (fault_id is not null) desc, abs(lag_s), node_id,
            link_kind, chain_id, fault_id)
            = 1
),
rank_count as (
    select job_id, attempt, count(*) as rank_count,
        count(*) filter (where is_absent) as absent_count,
        list(rank order by rank) filter (where is_absent) as absent_ranks
    from failed_rank
    group by job_id, attempt
),
waiting as (
    select job_id, attempt, count(*) as waiting_count
    from rank_position
    where is_waiting or is_held
    group by job_id, attempt
),
alike as (
    select job_id, attempt, pattern, any_value(failure_class) as failure_class,
        arg_min(exception, (file_id, line_no)) as exception,
        arg_min(message, (file_id, line_no)) as message, any_value(tier) as tier,
        coalesce(nullif(count(*) filter (where signal = 'crash'), 0), count(*)) as crash_count,
        bool_or(is_ranked) as is_ranked, min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no
    from (
        from rank_crash select true as is_ranked, job_id, attempt, pattern, failure_class,
            exception, message, tier, signal, utc_ns, file_id, line_no
            where signal = 'crash'
        union all
        from failure_signal as s
        select false as is_ranked, job_id, attempt, pattern, failure_class, exception, message,
            tier, signal, utc_ns, file_id, line_no
        where rank is null and signal in ('crash', 'chained')
            and (exception <> 'ChildFailedError'
                or (exception is null and tier <> 'launcher' and failure_class = 'software'))
                and not exists (from rank_crash as c
                    where c.job_id = s.job_id and c.attempt = s.attempt)
    )
    group by job_id, attempt, pattern
    qualify row_number()
        over (partition by job_id, attempt order by any_value(failure_class) is null,
            count(*) filter (where signal = 'crash' and pattern <> 'python_exception_handed_over')
                desc,
            pattern = 'python_exception_handed_over', count(*) desc, min(utc_ns), pattern)
            = 1
),
killed as (
    select job_id, attempt,
        min(utc_ns) filter (where stamp_source = 'own') as killed_ns
    from (
        select *, regexp_matches(pattern, '(^|_)(oom|memory)(_|$)') as is_of_memory
        from failure_signal
    )
    where is_of_memory
        or (signal = 'killed' and (ends_with(pattern, '_killed') or exit_code in (-9, 137)))
    group by job_id, attempt
    having not bool_or(is_of_memory)
)
select
    f.failure_id, f.job_id, f.attempt, f.hang_start_ns, f.spoke_ns, f.crash_ns, f.crash_latest_ns,
    f.stall_ns, f.ended_ns, f.started_ns, f.low_ns,
    f.timeout_count, f.crash_count, f.exit_count, f.launcher_count, f.world_size, f.is_world_stated,
    f.cancel_ns, f.progress_ns, f.stood_ns, f.idle_from_ns,
    f.has_trained,
    f.guid, f.process_group, f.seq_num, f.op_type, f.numel_in, f.numel_out, f.timeout_ms,
    f.ran_for_ms, f.waiting_count, f.user_location, f.file_id, f.line_no,
    u.rank as culprit_rank,
    coalesce(u.culprit_count, 0) as culprit_count,
    coalesce(
        'rank ' || u.rank::varchar,
        case when a.crash_count > 1 and (a.is_ranked or f.world_size >= a.crash_count)
            and coalesce(u.crash_pattern = a.pattern, true)
            then a.crash_count::varchar || ' ranks' end,
        'a rank that no line names'
    ) as culprit_words,
    coalesce(p.culprits_words, culprit_words) as culprits_words,
    coalesce(p.is_plural, ends_with(culprit_words, ' ranks'), false) as is_plural,
    u.basis, b.words as basis_words, u.certainty, u.basis_file_id, u.basis_line_no, u.basis_text,
    u.crash_signal, u.crash_pattern, u.crash_tier, u.crash_class, u.exception, u.frame_kind,
    u.exit_code, u.crash_content, u.status_code, u.object, u.received_count, u.expected_count,
    u.wid is not null or u.endpoint is not null or u.crash_node_id is not null as is_crash_named,
    u.crash_node_id, u.crash_file_id, u.crash_line_no, u.crash_message, u.crash_text,
    u.activity, regexp_extract(y.meaning, '^[^:,]*') as activity_words,
    u.activity_witness, u.activity_file_id, u.activity_line_no, u.activity_text,
    u.request_outcome, u.request_node_id, u.request_pattern, u.request_file_id, u.request_line_no,
    u.request_text, u.top_retry, u.retry_limit,
    l.node_id as link_node_id, l.link_kind, k.words as link_words,
    coalesce(k.is_proof, false) as is_tie_proven, l.chain_id, l.fault_id, l.fault_kind,
    coalesce(l.score, 0.0) as link_score, l.terms as link_terms, l.lag_s,
    l.file_id as link_file_id, l.line_no as link_line_no, l.client_file_id, l.client_line_no,
    l.is_suspect_known,
    v.is_storage_seen or is_tie_proven or coalesce(z.takes_away and n.weight >= 0.9, false)
        as is_link_seen,
    is_link_seen and link_score >= t.value as is_tied,
    v.cluster, v.node_count, v.covered_count, v.node_total, v.is_followed, v.short_ids,
    v.short_words,
    v.uncovered_ids, v.fault_count, v.gone_count, v.soon_count, v.stray_count,
    v.is_cluster_sure, v.is_storage_seen, v.is_storage_cleared,
    r.rank_count, r.absent_count, r.absent_ranks,
    coalesce(w.waiting_count, 0) as waiting_rank_count,
    case when d.killed_ns - f.progress_ns
        > (h.value + 5 * coalesce(e.interval_ns, 0) / 1e9) * 1e9
            then 'the job had made no step for '
                || ((d.killed_ns - f.progress_ns) // 60000000000)::varchar || ' minutes'
        when d.job_id is not null and f.timeout_count = 0
            and (d.killed_ns is null or f.progress_ns is null)
            then 'no line tells whether the job still made steps then' end as kill_doubt,
    a.pattern as alike_pattern, a.failure_class as alike_class, a.exception as alike_exception,
    a.message as alike_message,
    coalesce(a.crash_count, 0) as alike_count, a.file_id as alike_file_id,
        a.line_no as alike_line_no
from failure_case as f
join threshold as h on h.name = 'hang_gap_s'
join threshold as t on t.name = 'link_score'
left join killed as d on d.job_id = f.job_id and d.attempt = f.attempt
left join last_step as e on e.job_id = f.job_id and e.attempt = f.attempt
left join lead_culprit as u on u.failure_id = f.failure_id
left join culprit_name as p on p.failure_id = f.failure_id
left join top_link as l on l.failure_id = f.failure_id
left join activity as y on y.activity = u.activity
left join suspect_basis as b on b.basis = u.basis
left join link_kind as k on k.link_kind = l.link_kind
left join node_fault as n on n.fault_id = l.fault_id
left join fault_kind as z on z.fault_kind = l.fault_kind
left join failure_coverage as v on v.failure_id = f.failure_id
left join rank_count as r on r.job_id = f.job_id and r.attempt = f.attempt
left join waiting as w on w.job_id = f.job_id and w.attempt = f.attempt
left join alike as a on a.job_id = f.job_id and a.attempt = f.attempt
