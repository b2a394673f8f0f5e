-- What had taken objects from AIStore before a rank was told that its object does not exist.
-- grain: one row a failure, rank, node and kind of loss
-- reads: rank_request, worker_event, node_fault, node_witness, node_process, ais_event,
-- reads: loss_counter, failure_case, threshold
-- case: yes
-- note: When an object was asked for is told by the clock that tells of the loss: that of the
-- note: target's own line about it, where it is later than the rank's. joined_empty: a target that
-- note: joins has nothing before a rebalance has brought it there, and one that comes back may have
-- note: lost its disks. That a target lacks an object stands in its own line or in a rank's that
-- note: quotes it.
create or replace view object_loss as
with asked as (
    select r.failure_id, r.rank, r.cluster,
        case when r.pattern = 'http_not_found' then coalesce(n.node_id, r.node_id)
            else r.node_id end
            as node_id,
        r.object,
        case when n.first_ns > r.to_ns then n.first_ns when n.utc_ns is not null
            or r.pattern = 'http_not_found' then greatest(r.from_ns, least(n.utc_ns, r.to_ns))
            else r.from_ns end
            as from_ns,
        greatest(r.to_ns, n.first_ns) as to_ns, f.started_ns, b.bucket
    from rank_request as r
        cross join lateral (
            select coalesce(nullif(regexp_extract(r.text, 'ais://([^/\s"]+)/', 1), ''),
                nullif(regexp_extract(r.bucket, '^ais://(.+)$', 1), ''),
                regexp_extract(r.url, '/v1/objects/([^/?]+)/', 1))
            as bucket)
            as b
    left join failure_case as f on f.failure_id = r.failure_id
    left join (select cluster, regexp_extract(text, 'ais://(\S+) does not exist', 1) as name,
        arg_max(node_id, utc_ns) as node_id, max(utc_ns) as utc_ns, min(utc_ns) as first_ns
        from ais_event where pattern = 'ais_http_not_found' group by all)
        as n
        on n.cluster = r.cluster
        and n.name = b.bucket || '/' || r.object
    where r.outcome in ('missing', 'retry', 'error', 'chained') and r.object is not null
        and (r.pattern = 'http_not_found'
            or regexp_matches(r.text, '(?i)does not exist|not found|\b404\b'))
        and (starts_with(coalesce(r.bucket, ''), 'ais://')
            or (r.bucket is null
                and (contains(coalesce(r.url, ''), 'provider=ais')
                    or regexp_matches(r.url, '/v1/objects/[^?]+$'))))
),
deleting as (
    select cluster, xid, regexp_extract(bucket, '://(.+)$', 1) as bucket, file_id, line_no,
        utc_ns
            - coalesce(
                (
                    (epoch(nullif(regexp_extract(text, '\d\d:\d\d:\d\d\.\d+'), '')::interval)
                        - epoch(json_extract_string(capture, '$.begun')::interval) + 86400) % 86400
                    * 1000000000)::bigint,
                0)
            as begun_ns
    from ais_event where pattern = 'ais_objects_deleted' and contains(message, 'x-delete-')
),
taken as (
    select cluster, node_id, started_ns, started_ns as until_ns, file_id, line_no, null as bucket,
        case when fault_kind = 'evicting' then 'evicted'
            when fault_kind = 'misplaced_removed' then fault_kind
            when regexp_matches(text, '(?i)disabl|detach') then 'disk_detached' else 'disk_lost' end
            as loss
    from node_fault as n where fault_kind in ('evicting', 'disk_fault')
        or (fault_kind = 'misplaced_removed'
            and exists (select 1 from node_witness as w
                where w.cluster = n.cluster and w.effect = 'rebalance_aborted'
                    and w.utc_ns <= n.started_ns))
    union all
    select cluster, node_id, utc_ns, utc_ns, file_id, line_no,
        regexp_extract(text, '=>ais://(.+?)-\d\d:\d\d:\d\d', 1), 'copy_aborted'
    from ais_event
        where pattern = 'ais_xaction_finished_with_error'
            and regexp_matches(text, 'x-(copy|etl)-bck\[') and node_id is not null
    union all
    select cluster, peer_node_id, min(utc_ns), min(utc_ns), arg_min(file_id, (utc_ns, line_no)),
        arg_min(line_no, (utc_ns, file_id)), null, 'registered_twice'
    from ais_event where pattern = 'ais_registration_renewed' and peer_node_id is not null
        group by cluster, peer_node_id
    having count(*) >= (select value from threshold where name = 'renewal_count')
    union all
    select p.cluster, p.node_id, p.started_ns, p.started_ns, any_value(p.file_id),
        any_value(p.line_no), null, 'joined_empty'
    from node_process as p
    join ais_event as e on e.cluster = p.cluster and e.pattern = 'ais_smap_received'
        and contains(e.text, 'join-target]')
        and e.utc_ns between p.started_ns and p.started_ns + 60000000000
    where p.process_seq = 1 group by p.cluster, p.node_id, p.started_ns
    union all
    select cluster, node_id, ended_ns, ended_ns, file_id, line_no, null, 'joined_empty'
    from node_fault where fault_kind in ('killed', 'crashed', 'stopped') and ended_at is not null
    union all
    select cluster, null, min(begun_ns), min(begun_ns),
        arg_min(file_id, (begun_ns, file_id, line_no)),
        arg_min(line_no, (begun_ns, file_id, line_no)), bucket, 'deleted'
    from deleting group by cluster, xid, bucket
    union all
    select cluster, node_id, previous_ns, utc_ns, file_id, line_no, null, 'deleted_behind'
        from loss_counter where counter = 'remote.deleted.del.n'
    union all
    select cluster, node_id, min(previous_ns), min(utc_ns),
        arg_min(file_id, (utc_ns, file_id, line_no)), arg_min(line_no, (utc_ns, file_id, line_no)),
        null, 'evicted_unnamed'
    from loss_counter where counter = 'lru.evict.n' and node_id is not null
        group by cluster, node_id
),
wanted
    as (select a.failure_id, a.cluster, a.bucket, any_value(f.job_id) as job_id,
        max(a.to_ns) as to_ns, any_value(a.started_ns) as started_ns
        from asked as a left join failure_case as f on f.failure_id = a.failure_id
        group by a.failure_id, a.cluster, a.bucket),
missed as (
    select w.failure_id, w.bucket, e.node_id, e.utc_ns, e.text from wanted as w
        join ais_event as e on e.cluster = w.cluster and e.pattern = 'ais_http_not_found'
            and contains(e.text, 'ais://' || w.bucket || '/')
    union all
    select w.failure_id, w.bucket, v.node_id, v.utc_ns, v.text from wanted as w
        join worker_event as v on v.job_id = w.job_id and v.node_id is not null
            and v.utc_ns is not null
            and regexp_matches(v.text, 't\[\w+\]: ais://\S+ does not exist')
            and contains(v.text, 'ais://' || w.bucket || '/')
),
absent as (
    select w.failure_id, t.node_id, t.loss, w.bucket,
        count(distinct regexp_extract(e.text, 'ais://(\S+) does not exist', 1))
            filter (where e.utc_ns >= t.started_ns) as object_count,
        bool_and(e.node_id = t.node_id) filter (where e.utc_ns >= t.started_ns) as is_alone,
        count(*) filter (where e.utc_ns < t.started_ns) as before_count
    from wanted as w
    join taken as t on t.cluster = w.cluster
        and t.loss
            in ('evicted', 'misplaced_removed', 'copy_aborted', 'disk_lost', 'disk_detached',
                'joined_empty', 'deleted', 'deleted_behind')
        and coalesce(t.bucket, w.bucket) = w.bucket
    join missed as e on e.failure_id = w.failure_id and e.bucket = w.bucket
        and e.utc_ns between least(t.started_ns, w.started_ns) and w.to_ns
    group by w.failure_id, t.node_id, t.loss, w.bucket
)
select
    a.failure_id, a.rank, t.node_id, t.loss,
    greatest(count(distinct a.object),
        max(
            case when t.loss <> 'evicted' or (o.is_alone and o.before_count = 0) then o.object_count
                else 0 end))
        as object_count,
    arg_min(t.file_id, (t.started_ns, t.file_id, t.line_no)) as file_id,
    arg_min(t.line_no, (t.started_ns, t.file_id, t.line_no)) as line_no
from asked as a
join taken as t on t.cluster = a.cluster and t.started_ns <= a.to_ns
    and case when t.loss in ('evicted', 'evicted_unnamed', 'disk_lost') then t.node_id = a.node_id
        and (t.started_ns <= a.from_ns or t.loss = 'disk_lost')
        when t.loss in ('disk_detached', 'joined_empty', 'registered_twice')
            then t.node_id = a.node_id
        else coalesce(t.bucket, a.bucket) = a.bucket end
left join absent as o on o.failure_id = a.failure_id and o.node_id is not distinct from t.node_id
    and o.loss = t.loss and o.bucket = a.bucket
where (t.loss <> 'disk_lost' or t.started_ns <= a.from_ns or (o.is_alone and o.object_count >= 3))
    and (t.loss not in ('disk_detached', 'joined_empty') or coalesce(o.is_alone, false))
    and (t.loss not in ('deleted', 'deleted_behind')
        or (t.until_ns >= a.started_ns and coalesce(o.before_count, 0) = 0))
group by a.failure_id, a.rank, t.node_id, t.loss
union all
select a.failure_id, a.rank, a.node_id, 'corrupt', count(distinct a.object),
    arg_min(e.file_id, (e.utc_ns, e.file_id, e.line_no)),
    arg_min(e.line_no, (e.utc_ns, e.file_id, e.line_no))
from asked as a
join ais_event as e on e.cluster = a.cluster and e.node_id = a.node_id
    and e.pattern = 'ais_bad_checksum' and e.utc_ns <= a.to_ns
    and contains(e.text, '/' || a.object || ')')
group by a.failure_id, a.rank, a.node_id
