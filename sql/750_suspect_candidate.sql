-- Something that may be the cause of a failure, before it is weighed against the others.
-- grain: one row a failure and candidate
-- reads: root_cause, failure_case, node_suspicion, rank_suspect, suspect_basis, suspect_kind,
-- reads: uncited_cause, unseen_side, threshold
-- case: yes
-- note: Ranks that something points at are candidates where no hypothesis is confirmed, unless one
-- note: names them.
create or replace view suspect_candidate as
with verdict as (
    select
        f.failure_id, f.job_id, f.attempt, not exists (
            from root_cause as o
            where o.failure_id = f.failure_id and o.failure_class <> 'undetermined'
                and o.score >= (select value from threshold where name = 'confirm_score')
        ) as is_unconfirmed
    from failure_case as f
    join root_cause as r on r.failure_id = f.failure_id and r.place = 1
),
pointed as (
    select
        v.failure_id, b.words, list_sort(list(distinct s.rank)) as ranks,
        min(s.file_id) as file_id, arg_min(s.line_no, (s.file_id, s.line_no)) as line_no
    from verdict as v
    join rank_suspect as s on s.job_id = v.job_id and s.attempt = v.attempt
    join suspect_basis as b on b.basis = s.basis
    where v.is_unconfirmed and not exists (
        from root_cause as o
        where o.failure_id = v.failure_id and o.rank = s.rank
            and o.failure_class <> 'undetermined'
    )
    group by v.failure_id, b.words
),
every as (
    select
        failure_id, place = 1 as is_verdict, 'hypothesis' as kind, statement as what, score,
        failure_class, storage_verdict, node_id, rank, supports[1].file_id as file_id,
        supports[1].line_no as line_no
    from root_cause
    where failure_class <> 'undetermined'
    union all by name
    select
        failure_id, 'node_fault' as kind, what, 'storage_io' as failure_class, node_id, file_id,
        line_no
    from node_suspicion
    where is_open
    union all by name
    select
        failure_id, 'rank' as kind, case when len(ranks) = 1 then 'rank ' else 'one of ranks ' end
            || array_to_string(ranks[1:8], ', ')
            || case when len(ranks) > 8 then ' …: ' else ': ' end || words as what,
        'rank_hang' as failure_class, case when len(ranks) = 1 then ranks[1] end as rank, file_id,
        line_no
    from pointed
    union all by name
    select failure_id, kind, what, rank, node_id from unseen_side
    union all by name
    select
        failure_id, 'cause_line' as kind, coalesce(title, pattern) as what, failure_class, rank,
        file_id, line_no
    from uncited_cause
    union all by name
    select failure_id, 'unknown' as kind, 'something that no line read shows' as what
    from verdict
)
select
    e.failure_id, coalesce(e.is_verdict, false) as is_verdict, e.kind, e.what,
    least(coalesce(e.score, k.score), (select max(score) from suspect_kind)) as score,
    coalesce(e.failure_class, 'undetermined') as failure_class,
    coalesce(e.storage_verdict, k.storage_verdict) as storage_verdict, e.node_id, e.rank,
    e.file_id, e.line_no
from every as e
join suspect_kind as k on k.kind = e.kind
