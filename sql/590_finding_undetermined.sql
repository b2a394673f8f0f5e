-- These logs cannot tell: what is missing is named among the blind spots.
-- grain: one row a failure
-- reads: failure_lead, fault_kind, fr_failure, fr_lateness, departed_rank, worker_tail,
-- reads: worker_file, rank_identity
-- case: yes
-- note: Flight Recorder dumps alone tell who kept the others waiting, not why; whether it had been
-- note: late all along is said. Ranks that tell nothing of an end, while all others say that they
-- note: lost a peer, may have gone with their host, or their log ends too early. What a rank that
-- note: ended first logged last as an error is quoted: no pattern knows what it is about.
create or replace view finding_undetermined as
with late as (
    select f.job_id, f.attempt, l.rank, l.late_s, l.collective_count, l.file_id, l.place_no
    from fr_failure as f
    join fr_lateness as l on l.job_id = f.job_id and l.path_attempt = f.path_attempt and l.is_late
    qualify row_number() over (partition by f.job_id, f.attempt order by l.late_s desc, l.rank) = 1
),
wordless as (
    select job_id, attempt, list(rank order by rank) as ranks from departed_rank
    group by job_id, attempt
),
spoken as (
    select w.job_id, w.path_attempt + t.attempt_no as attempt, coalesce(t.rank, i.rank) as rank,
        t.file_id, t.line_no,
        nullif(regexp_extract(t.text, '\b(?:ERROR|CRITICAL|FATAL)\b\W*([^\r\n]{8,120})', 1), '')
            as words
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    left join rank_identity as i on i.kind = 'file' and i.file_id = t.file_id
    qualify row_number() over (
        partition by w.job_id, w.path_attempt + t.attempt_no, coalesce(t.rank, i.rank)
        order by t.local_ns desc nulls last, t.file_id, t.line_no desc) = 1
)
select
    f.failure_id,
    'undetermined' as finding,
    'fired' as state,
    'undetermined' as failure_class,
    case
        when o.words is not null then 'error_in_own_words'
        when f.basis = 'exited' then 'error_not_at_hand'
        when f.culprit_rank is not null and f.basis is distinct from 'departed' then 'silent_rank'
        when d.outcome = 'dump_missing' then 'rank_dump_missing'
        when f.absent_count > 0 then 'rank_log_missing'
        when w.job_id is not null and f.stood_ns is null then 'wordless_ranks'
        else 'no_cause_in_logs'
    end as failure_kind,
    'undetermined' as storage_verdict,
    f.culprit_rank as rank,
    case
        when o.words is not null then 'rank ' || o.rank::varchar
            || ' ended first, and its last line is an error: ' || o.words
        when f.basis = 'exited' then 'rank ' || f.culprit_rank::varchar
            || ' ended first, and its own error is not in these logs: torchrun names only '
                'its exit code'
        when f.basis = 'departed' then f.culprits_words
            || if(f.absent_count > 0,
                ' left first, as every other rank lost a peer, and its log is missing',
                ' ended and printed no reason, and the others lost their connections: a process or '
                    'the host may be gone')
        when f.culprit_rank is not null then f.culprits_words
            || ' kept the others waiting, but these logs do not say why'
            || case
                when f.link_score >= 0.3 then '; AIStore node ' || f.link_node_id
                    || coalesce(' ' || k.stalled_words, ' was in trouble') || ' then, and no line '
                        'shows that ' || if(f.is_plural, 'they', 'it') || ' asked it'
                else '' end
            || case
                when l.rank = f.culprit_rank then '; it had been late before, by '
                    || l.late_s::varchar || ' s in the middle of the last '
                    || l.collective_count::varchar || ' collectives'
                else '' end
        when d.outcome = 'dump_missing' then 'every rank whose dump is available waits alike in '
            || coalesce(d.op_type, 'a collective') || ' number '
            || coalesce(d.seq_num::varchar, '?') || ' of ' || coalesce(d.process_group, '?')
            || ', so the rank that kept them waiting is among those without a dump: '
            || array_to_string(d.missing_ranks[1:8], ', ')
            || case when len(d.missing_ranks) > 8 then ' and more' else '' end
        when f.absent_count > 0 then if(f.absent_count = 1, 'rank ', 'ranks ')
            || array_to_string(f.absent_ranks[1:8], ', ')
            || case when f.absent_count > 8 then ' and more' else '' end
            || ' left no line, so the one that was missing looks the same as the one whose log '
                'is missing'
        when f.stood_ns is not null
            then 'the job had not ended when its stacks were taken: most ranks wait in a '
                'collective, and no stack shows why'
        when len(w.ranks) = 1 then 'rank ' || w.ranks[1]::varchar || ' tells nothing of an end, '
            || 'and the others lost a peer: its host may be gone, or its log ends too early'
        when w.job_id is not null then 'ranks ' || array_to_string(w.ranks[1:8], ', ')
            || case when len(w.ranks) > 8 then ' and more' else '' end
            || ' tell nothing of an end, and the others lost a peer: their host may be gone, or '
                'their log ends too early'
        else 'the job failed and no line names a first cause'
    end as statement,
    list_filter([
        {'term': 'failure',
        'file_id': case when f.basis_line_no is null then f.file_id else f.basis_file_id end,
        'line_no': coalesce(f.basis_line_no, f.line_no), 'why': 'the failure itself'},
        {'file_id': case when f.culprit_rank is not null
            or d.outcome = 'dump_missing' then d.file_id end,
        'line_no': d.place_no, 'why': 'the first record that waits for it'},
        {'file_id': case when l.rank = f.culprit_rank then l.file_id end, 'line_no': l.place_no,
        'why': 'the last collective that it entered late'},
        {'file_id': o.file_id, 'line_no': o.line_no, 'why': 'the last line of rank ' || o.rank}
    ], lambda s: s.file_id is not null) as supports,
    list_filter([
        {'file_id': case when l.rank <> f.culprit_rank then l.file_id end, 'line_no': l.place_no,
        'why': 'rank ' || l.rank::varchar || ' had been late before, by ' || l.late_s::varchar
            || ' s, not this one'}
    ], lambda s: s.file_id is not null) as contradicts
from failure_lead as f
left join fault_kind as k on k.fault_kind = f.fault_kind
left join fr_failure as d on d.job_id = f.job_id and d.attempt = f.attempt
left join wordless as w on w.job_id = f.job_id and w.attempt = f.attempt
left join late as l on l.job_id = f.job_id and l.attempt = f.attempt
left join spoken as o on o.job_id = f.job_id and o.attempt = f.attempt and o.words is not null
    and o.rank = if(f.basis = 'exited', f.culprit_rank, if(len(w.ranks) = 1, w.ranks[1], null))
