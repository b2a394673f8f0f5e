-- The culprits of a failure in words: all of them, neighbours as a range.
-- grain: one row a failure with culprits
-- reads: culprit_cause
-- case: yes
-- note: Those that failed otherwise than the leading one are set apart.
create or replace view culprit_name as
with alike as (
    select
        failure_id, rank,
        coalesce(crash_pattern, activity)
            = first_value(coalesce(crash_pattern, activity))
                over (partition by failure_id order by culprit_no) as is_alike
    from culprit_cause
    where rank is not null
),
stretch as (
    select failure_id, is_alike, min(rank) as low, max(rank) as high
    from (
        select *,
            rank - row_number() over (partition by failure_id, is_alike order by rank) as place
        from alike
    )
    group by failure_id, is_alike, place
),
side as (
    select
        failure_id, is_alike,
        case when count(*) > 1 or bool_or(high > low) then 'ranks ' else 'rank ' end
            || array_to_string(
                list(low::varchar || case when high > low then '-' || high::varchar else '' end
                    order by low)[1:8], ', ')
            || case when count(*) > 8 then ' and more' else '' end as words
    from stretch
    group by failure_id, is_alike
)
select
    a.failure_id,
    a.words || coalesce(' (and, differently, ' || o.words || ')', '') as culprits_words,
    starts_with(a.words, 'ranks') as is_plural
from side as a
left join side as o on o.failure_id = a.failure_id and not o.is_alike
where a.is_alike
