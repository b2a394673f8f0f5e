-- What to do with the job of a failure, and the hosts to leave out.
-- grain: one row a failure
-- reads: failure, failure_action, rank_host, failure_node, failure_comeback, job
-- case: kept
-- note: hosts is the one host of all culprits, where the fault is of a host, its name is known, and
-- note: other ranks ran elsewhere. A job that storage failed may restart once all nodes held
-- note: responsible are back. A job of which a later attempt was completed needs nothing.
create or replace view decision as
with rule as (
    select f.failure_id, f.job_id, f.attempt, f.culprit_ranks, a.action, a.is_of_host, a.because
    from failure as f
    join failure_action as a on a.failure_class = f.failure_class
        and coalesce(a.storage_verdict, f.storage_verdict) = f.storage_verdict
        and (a.failure_kind is null or a.failure_kind = f.failure_kind)
    qualify row_number() over (
        partition by f.failure_id
        order by (a.failure_kind is null)::integer + (a.storage_verdict is null)::integer,
            a.failure_kind is null
    ) = 1
),
blamed as (
    select r.failure_id, min(h.host) filter (where list_contains(r.culprit_ranks, h.rank)) as host,
        count(distinct h.host) > 1 as has_others
    from rule as r
    join rank_host as h on h.job_id = r.job_id and h.attempt = r.attempt
    where r.is_of_host
    group by r.failure_id
    having count(distinct coalesce(h.host, ''))
        filter (where list_contains(r.culprit_ranks, h.rank)) = 1
        and coalesce(bool_and(h.host is not null)
            filter (where list_contains(r.culprit_ranks, h.rank)), false)
),
gone_on as (
    select r.failure_id, max(j.attempt) as attempt, arg_max(j.ended_at, j.attempt) as ended_at
    from rule as r
    join job as j on j.job_id = r.job_id and j.attempt > r.attempt
    group by r.failure_id
    having arg_max(j.end_reason, j.attempt) = 'completed'
),
back as (
    select n.failure_id, max(c.back_ns) as back_ns
    from failure_node as n
    left join failure_comeback as c on c.failure_id = n.failure_id and c.node_id = n.node_id
    group by n.failure_id
    having count(*) = count(c.back_ns)
)
select
    r.failure_id,
    case
        when g.attempt is not null then 'none'
        when r.action = 'stop_and_repair_storage' and k.back_ns is not null then 'restart'
        when b.has_others then 'restart_without_hosts'
        else r.action
    end as action,
    if(b.has_others and g.attempt is null, [b.host], []::varchar[]) as hosts,
    case
        when g.attempt is not null
            then 'a later attempt of it was completed at '
                || strftime(g.ended_at, '%H:%M:%S') || ' UTC'
        else r.because || case
            when r.action = 'stop_and_repair_storage' and k.back_ns is not null
                then ', and its nodes were back at '
                    || strftime(make_timestamp_ns(k.back_ns)::timestamp, '%H:%M:%S') || ' UTC'
            when b.has_others then ', and all culprits ran on ' || b.host
            when r.is_of_host and b.host is null then ', and no line names one host for it'
            else ''
        end
    end as because
from rule as r
left join gone_on as g on g.failure_id = r.failure_id
left join blamed as b on b.failure_id = r.failure_id
left join back as k on k.failure_id = r.failure_id
