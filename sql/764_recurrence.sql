-- How often the AIStore node, the host of a culprit or the kind of a failure had failed a job
-- before, within days.
-- grain: one row a failure and node, host or kind that it shares with an earlier one
-- reads: failure, failure_node, rank_state, threshold
-- public: yes
-- note: occurrence_no counts the failure itself, so that 3 says the third within span_days. Only
-- note: failures that the database holds count. An acquitted storage blames no node.
create or replace view recurrence as
with moment as (
    select
        failure_id, failure_class, failure_kind, culprit_ranks, storage_verdict,
        coalesce(ended_at, first_error_at, hang_started_at) as failed_at
    from failure
),
named as (
    select failure_id, 'node' as subject_kind, node_id as subject, cluster as scope
    from failure_node
    union all
    select distinct
        m.failure_id, 'host' as subject_kind, r.host as subject, '' as scope
    from moment as m
    join rank_state as r on r.failure_id = m.failure_id
        and list_contains(m.culprit_ranks, r.rank)
    where r.host is not null and m.storage_verdict = 'innocent'
    union all
    select
        failure_id, 'kind' as subject_kind,
        failure_class || coalesce(' / ' || failure_kind, '') as subject, '' as scope
    from moment
    where failure_class <> 'undetermined'
),
counted as (
    select
        n.failure_id, n.subject_kind, n.subject, count(*) as occurrence_no,
        arg_min(b.failure_id, (b.failed_at, b.failure_id)) as first_failure_id,
        min(b.failed_at) as first_failed_at,
        arg_max(b.failure_id, (b.failed_at, b.failure_id))
            filter (where b.failure_id <> n.failure_id) as last_failure_id
    from named as n
    join moment as m on m.failure_id = n.failure_id
    join named as o on o.subject_kind = n.subject_kind and o.subject = n.subject
        and o.scope = n.scope
    join moment as b on b.failure_id = o.failure_id and b.failed_at <= m.failed_at
        and b.failed_at > m.failed_at - to_days(
            (select value::integer from threshold where name = 'recurrence_days')
        )
    group by n.failure_id, n.subject_kind, n.subject
)
select
    failure_id, subject_kind, subject, occurrence_no::integer as occurrence_no,
    (select value::integer from threshold where name = 'recurrence_days') as span_days,
    first_failure_id, first_failed_at, last_failure_id
from counted
where occurrence_no > 1
