-- A candidate for the cause of a failure, the likeliest first, and the command that would decide.
-- grain: one row a failure and candidate, at most twelve a failure
-- reads: suspect_candidate, failure, blind_spot
-- public: yes
-- case: kept
-- note: The probabilities of a failure add up to 1. A verdict has place 1 and the confidence of the
-- note: failure, and the others share the rest; where the class is undetermined all share by their
-- note: odds. There is always one row for what no line shows. What would decide is another log
-- note: before the zone of one that was read.
create or replace view suspect as
with kept as (
    select
        *, score / (1 - score) as odds,
        bool_or(is_verdict) over (partition by failure_id) and not is_verdict as is_rest
    from suspect_candidate
    qualify row_number() over (
        partition by failure_id
        order by is_verdict desc, kind = 'unknown' desc, score desc, what, rank, node_id
    ) <= 12
),
shared as (
    select
        k.*,
        case
            when k.is_verdict then f.confidence
            when k.is_rest then (1 - f.confidence) * k.odds / sum(k.odds) over same
            else k.odds / sum(k.odds) over same
        end as probability
    from kept as k
    join failure as f on f.failure_id = k.failure_id
    window same as (partition by k.failure_id, k.is_verdict)
),
spot as (
    select
        s.failure_id, s.what, s.kind, s.rank, s.node_id,
        arg_min(b.command, (
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
