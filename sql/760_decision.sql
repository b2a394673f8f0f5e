-- What to do with the job of a failure, and the hosts to leave out.
-- grain: one row a failure
-- reads: failure, failure_action, rank_host, failure_node, failure_comeback
-- case: kept
-- note: hosts is the one host of all culprits, where the fault is of a host, its name is known, and
-- note: other ranks ran elsewhere. A job that storage failed may restart once all nodes held
-- note: responsible are back.
create or replace view decision as
with rule as (
    select f.failure_id, f.job_id, f.attempt, f.culprit_ranks, a.action, a.is_of_host, a.because
    from failure as f
    join failure_action as a on a.failure_class = f.failure_class
        and coalesce(a.storage_verdict, f.storage_verdict) = f.storage_verdict
        and (a.failure_kind is null or a.failure_kind = f.failure_kind)
    qualify row_number() over (
        partition by f.failure_id
        order by (a.failure_kind is null)::integer + (a.storage_verdict is null)::integer
    ) = 1
),
blamed as (
    select r.failure_id, min(h.host) filter (where list_contains(r.culprit_ranks, h.rank)) as host
    from rule as r
    join rank_host as h on h.job_id = r.job_id and h.attempt = r.attempt
    where r.is_of_host
    group by r.failure_id
    having count(distinct coalesce(h.host, ''))
        filter (where list_contains(r.culprit_ranks, h.rank)) = 1
        and count(distinct h.host) > 1
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
        when r.action = 'stop_and_repair_storage' and k.back_ns is not null then 'restart'
        when b.host is not null then 'restart_without_hosts'
        else r.action
    end as action,
    case when b.host is null then []::varchar[] else [b.host] end as hosts,
    r.because || case
        when r.action = 'stop_and_repair_storage' and k.back_ns is not null
            then ', and its nodes were back at '
                || strftime(make_timestamp_ns(k.back_ns)::timestamp, '%H:%M:%S') || ' UTC'
        when b.host is not null then ', and all culprits ran on ' || b.host
        when r.is_of_host then ', and no line names one host for it'
        else ''
    end as because
from rule as r
left join blamed as b on b.failure_id = r.failure_id
left join back as k on k.failure_id = r.failure_id
