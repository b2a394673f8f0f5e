-- Ties a culprit to a node of AIStore by a fault that was on when it stopped.
-- grain: one row a failure, culprit rank and fault of a node
-- reads: failure_case, culprit_cause, rank_request, batch_silence, asked_node, storage_relation,
-- reads: object_owner, failed_rank, worker_event, node_endpoint, node_fault, node, job,
-- reads: job_cluster, fault_kind, threshold
-- case: yes
-- note: Such a tie counts as far as what the rank was doing has to do with data, and the less the
-- note: longer the job went on well after the fault began (a disk that is out meets who reads from
-- note: it at once, so that one is borne for a minute or two at most; a job that began minutes
-- note: later has borne it since its start, not one that began hours later, since a node that is
-- note: gone is taken off the map. It counts less of a rank that says nothing at all where no line
-- note: of AIStore shows that it held a batch of the job, and least where one would; what hangs at
-- note: the proxy whose address a rank's lines name, or lines without a rank in its file, comes to
-- note: no target.
create or replace view link_by_fault as
with reach as (
    select
        max(value::bigint * 1000000000) filter (where name = 'fault_slack_s') as slack_ns,
        max(value::bigint * 1000000000) filter (where name = 'disk_tick_s') as tick_ns,
        max(value::bigint * 1000000000) filter (where name = 'stall_reach_s') as reach_ns,
        max(value) filter (where name = 'fault_bite_s') as bite_s,
        max(value::bigint * 1000000000) filter (where name = 'fault_before_job_s') as before_ns,
        max(value) filter (where name = 'cluster_sure') as sure
    from threshold
),
retried
    as (select failure_id, rank, object, max(to_ns) as retried_ns from rank_request
        where outcome = 'retry' and object is not null group by failure_id, rank, object),
named as (
    select distinct f.failure_id, w.rank, w.file_id, e.node_id
    from failure_case as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt
    join node_endpoint as e on e.cluster = c.cluster and e.endpoint = w.endpoint
    join node as n on n.cluster = e.cluster and n.node_id = e.node_id and n.role = 'proxy'
),
gateway as (
    select f.failure_id, r.rank, list(n.node_id) as node_ids
    from failure_case as f
    join failed_rank as r on r.job_id = f.job_id and r.attempt = f.attempt
    join named as n on n.failure_id = f.failure_id
        and (n.rank = r.rank or (n.rank is null and n.file_id = r.file_id))
    group by f.failure_id, r.rank
),
parted as (
    select failure_id, node_id
    from (
        select g.failure_id, g.node_id, count(*) as rank_count, count(u.rank) as stopped_count,
            any_value(u.culprit_count) as culprit_count,
            sum(count(*)) over (partition by g.failure_id) as all_count
        from (select failure_id, rank, unnest(node_ids) as node_id from gateway) as g
        left join culprit_cause as u on u.failure_id = g.failure_id and u.rank = g.rank
        group by g.failure_id, g.node_id
    )
    where stopped_count = rank_count and stopped_count = culprit_count and all_count > rank_count
),
faulty as (
    select
        f.failure_id, u.witness_rank as rank, n.node_id, n.fault_kind, n.fault_id, n.file_id,
        n.line_no, r.time_weight, r.stale_weight, r.is_silent, r.has_error, p.bite_s,
        case when n.fault_kind = 'handler_panic' and r.is_dropped then 0.9 else n.weight end
            as weight,
        (f.stall_ns - n.started_ns) / 1e9 as lag_s,
        (f.stall_ns
            - case
                when n.started_ns >= epoch_ns(j.started_at) - p.before_ns
                    then greatest(n.started_ns, epoch_ns(j.started_at))
                else n.started_ns end)
            / 1e9
            - case when f.hang_start_ns is null
                and u.crash_pattern = 'dataloader_timeout'
                    then coalesce(
                        try_cast(regexp_extract(u.crash_text, 'timed out after (\d+) seconds', 1)
                            as integer),
                        0)
                else 0 end
            as borne_s,
        q.node_id is not null as is_asked,
        r.is_absence and not r.is_misnamed and k.takes_away and coalesce(w.object_count > 1, false)
            as is_owned,
        coalesce(q.file_id, u.crash_file_id, u.activity_file_id, u.basis_file_id) as client_file_id,
        coalesce(q.line_no, u.crash_line_no, u.activity_line_no, u.basis_line_no) as client_line_no,
        case when q.node_id is null and n.known_ns > e.last_ns
            and case n.fault_kind when 'killed' then n.cut_count = 0
                when 'hung' then u.crash_pattern is not null
                    and not regexp_matches(u.crash_pattern, 'time_?out')
                else false end
            then greatest(0.3, (e.last_ns - n.started_ns) / (n.known_ns - n.started_ns))
            else 1.0 end
            * case when c.certainty >= p.sure then 1.0 else c.certainty end
            as sureness,
        [
            case when n.fault_kind = 'out_of_space' and not r.is_write then 'no_writer'
                when k.is_loud and r.is_silent and u.request_outcome is null then 'no_error'
                when n.fault_kind = 'disk_fault' and u.crash_pattern is null then 'silent_disk' end,
            case when n.role is distinct from 'proxy' then null
                when g.node_ids is null then 'any_proxy'
                when not list_contains(g.node_ids, n.node_id) then 'other_proxy'
                when (f.failure_id, n.node_id) in (select (failure_id, node_id) from parted)
                    then 'own_ranks' end,
            case when r.is_absence
                and ((n.node_id = u.crash_node_id and n.fault_kind in ('hung', 'down', 'isolated'))
                    or r.missed_ns < n.started_ns - p.slack_ns or r.owner_id <> n.node_id)
                    then 'there_before'
                when r.is_absence and not k.takes_away
                and (starts_with(n.fault_kind, 'slow_reads')
                    or not coalesce(y.retried_ns > f.stall_ns, false))
                    then 'never_away'
                when r.is_absence and q.node_id is null and u.culprit_count = 1 and not is_owned
                    and not starts_with(n.fault_kind, 'disk') then 'unsaid'
                when r.is_silent and u.request_outcome is null and k.is_refusing
                and q.node_id is null then 'unsaid'
                when b.failure_id is not null and r.is_silent and u.request_outcome is null
                and u.activity in ('unknown', 'step', 'epoch_end', 'initialisation')
                and q.node_id is null and not coalesce(list_contains(g.node_ids, n.node_id), false)
                    then if(b.is_told, 'unsaid', 'no_batch_seen') end,
            case when q.is_unreached and k.takes_connections then 'connects'
                when (n.fault_kind = 'pressure' and u.crash_pattern = 'sdk_soft_errors_exceeded')
                or (n.fault_kind in ('backend', 'backend_slow')
                    and regexp_matches(coalesce(u.crash_text, u.request_text), '\bprovider=ais\b'))
                    then 'other_kind' end,
            case when q.node_id is null and o.rank is not null then 'asks_another'
                when q.node_id is null and t.node_id <> n.node_id then 'answered_by_another' end
        ] as terms
    from failure_case as f
    join culprit_cause as u on u.failure_id = f.failure_id
    join storage_relation as r on r.failure_id = u.failure_id and r.rank is not distinct from u.rank
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    cross join reach as p
    cross join lateral (
        select case
            when u.crash_latest_ns <= u.crash_ns + 1000000000 then greatest(f.stall_ns, u.crash_ns)
            else f.stall_ns end
        + case when regexp_matches(u.crash_pattern, 'time_?out') then 0 else p.slack_ns end
        as last_ns,
        least(f.stall_ns, case when u.request_pattern = 'fetch_broken' then u.request_from_ns end)
            - p.slack_ns as first_ns,
        coalesce(
            try_cast(
                regexp_extract(u.crash_text,
                    '(?:--speed-time |--max-time |read timeout=|timed out after )(\d+)', 1)
                as bigint),
            0)
            * 1000000000
            as waited_ns)
        as e
    join node_fault as n on n.cluster = c.cluster
        and n.started_ns
            <= case when contains(u.crash_pattern, 'refused') then greatest(e.last_ns, u.crash_ns)
                else e.last_ns end
            + case when n.fault_kind in ('pressure', 'disk_stuck') then p.tick_ns
                when n.fault_kind = 'goroutines' then greatest(f.spoke_ns - e.last_ns, 0) else 0 end
        and n.ended_ns >= e.first_ns
            - if(u.crash_pattern is not null and f.hang_start_ns is null, e.waited_ns, 0)
    left join fault_kind as k on k.fault_kind = n.fault_kind
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    left join asked_node as q on q.failure_id = f.failure_id and q.rank = u.witness_rank
        and q.node_id = n.node_id
        and case when u.crash_pattern is not null
            and not (u.crash_pattern = 'dataloader_timeout' and q.is_pending) then not q.is_pending
            and q.to_ns >= f.stall_ns - p.reach_ns else q.is_pending
            or q.to_ns > f.stall_ns + p.slack_ns end
    left join retried as y on y.failure_id = f.failure_id and y.rank = u.witness_rank
        and y.object = u.object and q.node_id is not null
    left join (select failure_id, node_id, count(*) as object_count from object_owner
        where is_away group by failure_id, node_id) as w
        on w.failure_id = f.failure_id and w.node_id = n.node_id
    left join (select distinct failure_id, rank from asked_node where is_pending) as o
        on o.failure_id = f.failure_id
        and o.rank = u.witness_rank
    left join node as t on t.cluster = c.cluster and t.node_id = u.request_node_id
        and t.role = 'target' and u.request_outcome = 'error' and u.wid is null
        and u.received_count is null and not contains(coalesce(u.crash_text, ''), '/ml/moss')
    left join batch_silence as b on b.failure_id = f.failure_id
    left join gateway as g on g.failure_id = f.failure_id and g.rank = u.witness_rank
    where case when n.fault_kind = 'goroutines' then q.node_id is not null else n.weight >= 0.3 end
        and (q.is_pending or n.started_ns <= e.last_ns
            or (q.node_id is not null and u.crash_ns between n.started_ns and n.ended_ns))
            and (n.ended_ns >= e.first_ns or q.node_id is not null)
)
select
    failure_id, rank, node_id,
    case when is_asked and has_error then 'error_node' when is_asked then 'request_node'
        when fault_kind = 'stale_membership' then 'stale_membership'
        when is_owned then 'object_owner' else 'fault_time' end
        as link_kind,
    fault_id, fault_kind, sureness * case
        when (is_asked and has_error) or is_owned then weight * least(time_weight + 0.2, 0.9)
        when is_asked then greatest(weight, stale_weight) * 0.98
        when fault_kind = 'stale_membership' then stale_weight
        else weight * time_weight
            * greatest(
                case when is_silent or fault_kind = 'disk_fault' then 0.3 when has_error then 0.85
                    else 0.75 end,
            least(1.0,
                1.0
                    - (borne_s - bite_s)
                        / (case when fault_kind = 'disk_fault' then 1 else 3 end * bite_s)))
    end as strength,
    lag_s, file_id, line_no, client_file_id, client_line_no,
    list_filter(terms, lambda x: x is not null) as terms
from faulty
