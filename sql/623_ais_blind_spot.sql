-- What of AIStore's side of a failure could not be seen: logs that are missing, end early, or are
-- of a cluster that nothing ties to the job.
-- grain: one row a failure and blind spot
-- reads: failure, failure_lead, failure_case, failure_node, ais_file, job_storage, worker_event,
-- reads: worker_file, clock, node_coverage, node_endpoint, pull_gap, node_process
-- case: yes
-- note: Nodes that no line names are counted by the cluster map. A log that ends early is an idle
-- note: node's as long as others of the cluster go on. A node that is gone is asked for no
-- note: logs: they are on its host.
create or replace view ais_blind_spot as
with address as (
    select job_id, attempt, arg_min(endpoint, (file_id, line_no)) as endpoint
    from worker_event
    where endpoint is not null
        and regexp_matches(coalesce(url, '') || text, '/v1/|AIS_ENDPOINT|ais://|\bvia https?:')
    group by job_id, attempt
),
base as (
    select
        f.failure_id, f.failure_class, f.storage_verdict, f.window_started_at, f.window_ended_at,
        c.stall_ns, a.endpoint,
        coalesce(l.node_count, 0) as node_count, l.node_total, l.uncovered_ids, l.short_ids,
            l.short_words, l.is_followed, l.cluster, l.is_cluster_sure,
        greatest(l.node_total - l.covered_count - coalesce(len(l.uncovered_ids), 0), 0)
            as unnamed_count,
        coalesce(strftime(f.window_started_at::timestamp, '%Y-%m-%d %H:%M:%S') || ' to '
            || strftime(f.window_ended_at::timestamp, '%H:%M:%S') || ' UTC'
            || case
                when f.job_id in (
                    select w.job_id from worker_file as w join clock as k on k.file_id = w.file_id
                    where w.kind = 'worker_log' and k.method = 'assumed')
                    then ' (assumed: no line of the job shows its time zone)'
                else '' end,
            'the failure, whose lines tell no date')
                as span_words,
        coalesce(s.is_ais_user, false) as is_ais_user,
        coalesce(s.is_ais_user, false) or f.storage_verdict <> 'innocent' as is_asked
    from failure as f
    join failure_lead as l on l.failure_id = f.failure_id
    left join failure_case as c on c.failure_id = f.failure_id
    left join (select job_id, bool_or(is_ais_user) as is_ais_user from job_storage group by job_id)
        as s
        on s.job_id = f.job_id
    left join address as a on a.job_id = f.job_id and a.attempt = f.attempt
),
near as (
    select b.failure_id, string_agg(distinct v.cluster, ', ' order by v.cluster) as clusters,
        bool_and(v.cluster
            in (select cluster from ais_file group by cluster
                having bool_and(contains(path, '.ERROR.'))))
            as is_errors_only
    from base as b
    join node_coverage as v on v.started_ns <= epoch_ns(b.window_ended_at)
        and v.ended_ns >= epoch_ns(b.window_started_at)
    group by b.failure_id
),
nearest as (
    select b.failure_id,
        coalesce(
            'begin ' || strftime(make_timestamp_ns(min(v.started_ns)
                filter (where v.started_ns > epoch_ns(b.window_ended_at)))::timestamp, '%H:%M:%S'),
            'end ' || strftime(make_timestamp_ns(max(v.ended_ns))::timestamp, '%H:%M:%S'))
            as words
    from base as b
    join node_coverage as v
        on v.started_ns between epoch_ns(b.window_ended_at) and epoch_ns(b.window_ended_at) + 3600e9
        or v.ended_ns between epoch_ns(b.window_started_at) - 3600e9
            and epoch_ns(b.window_started_at)
    group by b.failure_id
),
elsewhen as (
    select b.failure_id, b.endpoint, e.cluster, min(v.started_ns) as from_ns,
        max(v.ended_ns) as to_ns
    from base as b
    join node_endpoint as e on e.endpoint = b.endpoint
    join node_coverage as v on v.cluster = e.cluster
    where b.node_count = 0 and b.failure_id not in (select failure_id from near)
    group by b.failure_id, b.endpoint, e.cluster
),
uncovered as (
    select u.failure_id, g.reason, array_agg(u.node_id order by u.node_id) as node_ids
    from (
        select failure_id, window_started_at, unnest(uncovered_ids) as node_id,
            len(uncovered_ids) as id_count
        from base
        where node_count > 0
    ) as u
    left join (select node_id, arg_max(reason, tried_ns) as reason, max(tried_at) as tried_at
        from pull_gap group by node_id)
        as g
        on g.node_id = u.node_id
        and g.tried_at >= u.window_started_at
    group by u.failure_id, g.reason, case when u.id_count <= 3 then u.node_id end
),
every as (
    select b.failure_id,
        if(b.is_ais_user or b.failure_class
                in ('storage_io', 'data', 'data_loading_stall', 'rank_hang'), 1, 8) as position,
        case when b.is_ais_user then 'the AIStore side'
            else 'the storage that the job read from' end
            as what,
        case when b.is_ais_user then ''
            else 'no line of the job says that this was AIStore'
                || case when n.failure_id is null then ', and ' else '' end end
            || case when n.failure_id is null then 'no AIStore log covers ' || b.span_words
                    || coalesce('; those that were read ' || t.words, '')
                else '' end
            || case when not b.is_ais_user then ''
                when b.storage_verdict = 'guilty' then ', so what went wrong there is not seen'
                else ', so storage can neither be accused nor cleared' end
                as why,
        case
            when b.is_ais_user
                then 'ais log get cluster ./aislogs && aiscorr ingest ./aislogs   # or: aiscorr '
                    'pull --out ./aislogs'
            else 'aiscorr ingest <the logs of the storage that the job reads>' end
            as command
    from base as b
    left join near as n on n.failure_id = b.failure_id
    left join nearest as t on t.failure_id = b.failure_id
    where b.node_count = 0 and b.is_asked and not (b.is_ais_user and n.failure_id is not null)
    union all
    select b.failure_id, 1,
        'whether the job used AIStore cluster '
            || case when b.node_count = 0 then n.clusters else b.cluster end,
        case
            when n.is_errors_only
                then 'only the ERROR files of its nodes are available, which clear nobody: they '
                    'name too little to link the job to them, as the INFO files would'
            else 'its logs cover ' || b.span_words
                || ', but no request, address or node of the job''s lines appears in them, so they '
                    'clear nobody' end,
        'ais log get cluster ./aislogs && aiscorr ingest ./aislogs   # '
            || case when n.is_errors_only then 'without --severity error'
                else 'with the log of the proxy that the job asks'
                    || coalesce(', ' || b.endpoint, '') end
    from base as b
    join near as n on n.failure_id = b.failure_id
    where (b.is_ais_user and b.node_count = 0)
        or (b.is_asked and b.node_count > 0 and not b.is_cluster_sure)
    union all
    select failure_id, 1, 'whether the clocks of the job and of AIStore agree',
        'the job asks ' || endpoint || ', an address of cluster ' || cluster
            || ', whose logs that were read are of '
            || strftime(make_timestamp_ns(from_ns)::timestamp, '%Y-%m-%d %H:%M:%S') || ' to '
            || strftime(make_timestamp_ns(to_ns)::timestamp, '%Y-%m-%d %H:%M:%S') || ' UTC',
        'date -u   # on a host of the job and on one of AIStore'
    from elsewhen
    union all
    select failure_id, 2,
        'AIStore node' || case len(node_ids) when 1 then ' ' else 's ' end
            || array_to_string(node_ids[1:24], ', ')
            || case when len(node_ids) > 24 then ' and ' || (len(node_ids) - 24)::varchar || ' more'
                else '' end,
        case len(node_ids) when 1 then 'its log does' else 'their logs do' end
            || ' not cover the moment the ranks stopped; a fault of '
            || case len(node_ids) when 1 then 'it' else 'theirs' end || ' alone would not be seen'
            || coalesce(' (aiscorr pull could not fetch '
                || case len(node_ids) when 1 then 'it: ' else 'them: ' end || reason || ')',
                ''),
        'ais log get ' || case len(node_ids) when 1 then node_ids[1] || ' --all' else 'cluster' end
            || ' ./aislogs && aiscorr ingest ./aislogs'
    from uncovered
    union all
    select failure_id, 2,
        unnamed_count::varchar || ' of ' || node_total::varchar || ' AIStore nodes',
        'the cluster map counts them and no log of them was read; a fault of theirs '
            'would not be seen',
        'ais log get cluster ./aislogs && aiscorr ingest ./aislogs'
    from base
    where node_count > 0 and unnamed_count > 0
    union all
    select failure_id, 2,
        'AIStore node' || case len(short_ids) when 1 then ' ' else 's ' end
            || array_to_string(short_words[1:8], ', ')
            || case when len(short_ids) > 8 then ' and ' || (len(short_ids) - 8)::varchar || ' more'
                else '' end,
        case len(short_ids) when 1 then 'its log ends' else 'their logs end' end
            || ' before the ranks stopped at '
            || strftime(make_timestamp_ns(stall_ns)::timestamp, '%H:%M:%S')
            || '; a fault that began later is not seen',
        'ais log get cluster ./aislogs && aiscorr ingest ./aislogs'
    from base
    where node_count > 0 and len(short_ids) > 0 and not is_followed and storage_verdict <> 'guilty'
    union all
    select b.failure_id, 2, 'what became of AIStore node ' || n.node_id,
        'no file of it reaches the end of this job, so its own lines do not tell; its next file, '
            'or the kernel log of its host, would',
        'aiscorr ingest <the log folder of ' || n.node_id || ', copied from its host>'
    from base as b
        join failure_node as n on n.failure_id = b.failure_id
            and list_contains(b.short_ids, n.node_id)
            and not exists (from node_coverage as v
                where v.cluster = b.cluster and v.node_id = n.node_id and v.ended_ns >= b.stall_ns)
            and not exists (from node_process as p
                where p.cluster = b.cluster and p.node_id = n.node_id and p.next_ns is null
                    and p.end_reason in ('stopped', 'fatal'))
)
select failure_id, position, what, why, command from every
