-- A candidate for the cause of a failure, the likeliest first, and the command that would decide.
-- grain: one row a failure and candidate, at most twelve a failure
-- reads: failure, failure_case, root_cause, node_suspicion, rank_suspect, suspect_basis, coverage,
-- reads: worker_event, evidence, ruled_out, pattern, suspect_kind, blind_spot
-- public: yes
-- case: kept
-- note: The probabilities of a failure add up to 1. A verdict has place 1 and the confidence of the
-- note: failure, and the others share the rest; where the class is undetermined all share by their
-- note: odds, and ranks that something points at are candidates unless a hypothesis names them, and
-- note: so is what was not read: where ranks waited, no line states how many there are and no dump
-- note: lists them, one may be missing that no line names. Every kind of line of role cause that
-- note: came before the report of the failure is cited by a hypothesis, is ruled out, or is here.
-- note: There is always one row for what no line shows. What would decide is a blind spot of that
-- note: rank, node or kind before others, and another log before the zone of one that was read.
create or replace view suspect as
with verdict as (
    select
        c.failure_id, c.job_id, c.attempt, c.heard_ns, f.confidence,
        f.failure_class = 'undetermined' as is_open,
        f.storage_verdict = 'undetermined' as is_storage_open,
        c.hang_start_ns is not null and not c.is_world_stated as may_have_more
    from failure_case as c
    join failure as f on f.failure_id = c.failure_id
),
pointed as (
    select
        v.failure_id, b.words, list_sort(list(distinct s.rank)) as ranks,
        min(s.file_id) as file_id, arg_min(s.line_no, (s.file_id, s.line_no)) as line_no
    from verdict as v
    join rank_suspect as s on s.job_id = v.job_id and s.attempt = v.attempt
    join suspect_basis as b on b.basis = s.basis
    where v.is_open and not exists (
        from root_cause as o
        where o.failure_id = v.failure_id and o.rank = s.rank
            and o.failure_class <> 'undetermined'
    )
    group by v.failure_id, b.words
),
unread as (
    select
        v.failure_id, c.kind, list(c."of" order by c.rank, c."of") as things,
        case when count(*) = 1 then min(c.rank) end as rank,
        case when count(*) = 1 then min(c.node_id) end as node_id
    from verdict as v
    join coverage as c on c.failure_id = v.failure_id and c.kind in ('output', 'log')
    where v.is_open and c.state <> 'complete' and (v.is_storage_open or c."of" <> 'storage')
    group by v.failure_id, c.kind
),
accounted as (
    select e.failure_id, w.pattern
    from (
        select failure_id, file_id, line_no from evidence
        union all
        select failure_id, file_id, line_no from ruled_out
    ) as e
    join worker_event as w on w.file_id = e.file_id and w.line_no = e.line_no
),
uncited as (
    select v.failure_id, w.pattern, w.failure_class, w.rank, w.file_id, w.line_no
    from verdict as v
    join worker_event as w on w.job_id = v.job_id and w.attempt = v.attempt and w.role = 'cause'
    anti join accounted as a on a.failure_id = v.failure_id and a.pattern = w.pattern
    qualify row_number() over (
            partition by v.failure_id, w.pattern, w.file_id, w.rank order by w.line_no
        ) = 1
        and coalesce(w.utc_ns <= v.heard_ns, true)
),
every as (
    select
        failure_id, place = 1 as is_first, 'hypothesis' as kind, statement as what, score,
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
    select
        failure_id, case kind when 'log' then 'unseen_node' else 'unseen_rank' end as kind,
        'what was not read of ' || array_to_string(things[1:4], ', ') || case
            when len(things) > 4 then ' and ' || (len(things) - 4)::varchar || ' more' else ''
        end as what,
        rank, node_id
    from unread
    union all by name
    select failure_id, 'unseen_rank' as kind, 'a rank that no line read names' as what
    from verdict as v
    where is_open and may_have_more and not exists (
        from coverage as c where c.failure_id = v.failure_id and c.kind = 'dump'
    )
    union all by name
    select
        u.failure_id, 'cause_line' as kind, coalesce(any_value(p.title), u.pattern) as what,
        min(u.failure_class) as failure_class,
        case when min(u.rank) = max(u.rank) then min(u.rank) end as rank,
        min(u.file_id) as file_id, arg_min(u.line_no, (u.file_id, u.line_no)) as line_no
    from uncited as u
    left join pattern as p on p.pattern = u.pattern and p.format = 'worker'
    group by u.failure_id, u.pattern
    union all by name
    select failure_id, 'unknown' as kind, 'something that no line read shows' as what
    from verdict
),
kept as (
    select
        e.failure_id, coalesce(e.is_first, false) as is_verdict, e.kind, e.what,
        coalesce(e.failure_class, 'undetermined') as failure_class,
        coalesce(e.storage_verdict, k.storage_verdict) as storage_verdict, e.node_id, e.rank,
        e.file_id, e.line_no,
        least(coalesce(e.score, k.score), h.score) as odd_score,
        odd_score / (1 - odd_score) as odds,
        bool_or(is_verdict) over (partition by e.failure_id) and not is_verdict as is_rest
    from every as e
    join suspect_kind as k on k.kind = e.kind
    join suspect_kind as h on h.kind = 'hypothesis'
    qualify row_number() over (
        partition by e.failure_id
        order by is_verdict desc, e.kind = 'unknown' desc, odd_score desc, e.what, e.rank,
            e.node_id
    ) <= 12
),
shared as (
    select
        k.*,
        case
            when k.is_verdict then v.confidence
            when k.is_rest then (1 - v.confidence) * k.odds / sum(k.odds) over same
            else k.odds / sum(k.odds) over same
        end as probability
    from kept as k
    join verdict as v on v.failure_id = k.failure_id
    window same as (partition by k.failure_id, k.is_verdict)
),
spot as (
    select
        s.failure_id, s.what, s.kind, s.rank, s.node_id,
        arg_min(b.command, (
            case s.kind when 'unseen_rank' then not contains(b.what, 'rank')
                when 'unseen_node' then not regexp_matches(b.what, 'storage|AIStore')
                else false end,
            not coalesce(contains(b.what || ' ' || b.command, s.node_id), regexp_matches(
                b.what || ' ' || b.command, '\branks?\b[0-9, and]*\b' || s.rank::varchar || '\b'
            ), false), contains(b.command, '--timezone'), b.position, b.what
        )) as command
    from shared as s
    join blind_spot as b on b.failure_id = s.failure_id
    group by s.failure_id, s.what, s.kind, s.rank, s.node_id
)
select
    s.failure_id,
    row_number() over (
        partition by s.failure_id
        order by
            s.is_verdict desc, s.probability desc, s.kind = 'unknown', s.what, s.rank, s.node_id
    )::integer as place,
    s.what, s.probability::double as probability, s.failure_class, s.storage_verdict, s.node_id,
    s.rank, b.command as would_decide, s.file_id, s.line_no
from shared as s
left join spot as b
    on b.failure_id = s.failure_id and b.what = s.what and b.kind = s.kind
    and b.rank is not distinct from s.rank and b.node_id is not distinct from s.node_id
