-- The data itself is wrong: a missing or misnamed object, a corrupt sample, a manifest that does not fit.
-- grain: one row a failure
-- reads: failure_lead, job, node, worker_event, rank_request, object_loss, storage_remark, failure_coverage, sudden_fault, fault_kind, node_fault, ais_event, bucket_change
-- stored: yes
-- empty without: failure_lead
-- note: A bucket of its settings that a job asks for with the provider of a cloud (in the address, as an ais:// bucket may have a backend of that name) is the job's mistake, whatever logs are at hand.
create or replace view finding_data_error as
with served as (
    select distinct f.failure_id from failure_lead as f
    join ais_event as e on e.cluster = f.cluster and e.utc_ns < f.crash_latest_ns and not contains(e.text, 'does not exist') and contains(e.text, 'ais://' || regexp_extract(f.crash_message, 'ais://([\w.-]+)', 1))
    where regexp_matches(f.crash_pattern, 'bucket_not_found$') and f.progress_ns is not null and regexp_matches(f.crash_message, 'ais://[\w.-]')),
losing as (
    select f.failure_id from failure_lead as f where regexp_matches(f.crash_pattern, 'missing|not_found|entry') and (
        (list_contains(f.short_ids, f.crash_node_id) and exists (from object_loss as o where o.failure_id = f.failure_id and o.node_id = f.crash_node_id))
        or (f.cluster, f.crash_node_id) in (select n.cluster, n.node_id from node as n where n.role = 'target' and (select count(*) from node as o where o.cluster = n.cluster and o.role = 'target') >= 3)
            and exists (select 1 from worker_event as v where v.job_id = f.job_id and v.node_id is not null and v.object is not null and regexp_matches(v.text, 't\[\w+\]: ais://\S+ does not exist') having count(distinct v.node_id) = 1 and min(v.node_id) = f.crash_node_id and count(distinct v.object) >= 4)
        or exists (from node_fault as n where n.cluster = f.cluster and n.fault_kind = 'evicting' and n.started_ns between f.started_ns - 600e9 and f.ended_ns + 600e9 and (f.crash_pattern = 'http_not_found' or (n.node_id = f.crash_node_id and n.started_ns <= f.crash_latest_ns))) or exists (from ais_event as e where e.cluster = f.cluster and e.pattern = 'ais_smap_maintenance' and e.utc_ns between f.started_ns and f.crash_latest_ns and not exists (from node_fault as n where n.cluster = e.cluster and n.fault_kind = 'maintenance' and abs(n.started_ns - e.utc_ns) <= 60e9)) or exists (from failure_coverage as v where v.failure_id = f.failure_id and list_contains(v.uncovered_ids, f.crash_node_id) and exists (from node_fault as n join fault_kind as k on k.fault_kind = n.fault_kind and k.takes_away where n.cluster = f.cluster and n.node_id = f.crash_node_id and n.started_ns between f.started_ns and f.crash_latest_ns)))
),
misnamed as (
    select f.failure_id from failure_lead as f
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    where f.crash_pattern = 'sdk_bucket_not_found' and length(regexp_extract(f.crash_message, '(\w+)://([\w.-]+)', 2)) > 1
        and regexp_matches(j.data_source, '\w://' || regexp_escape(regexp_extract(f.crash_message, '\w://([\w.-]+)', 1)) || '($|[^\w.-])')
        and not contains(j.data_source, regexp_extract(f.crash_message, '\w+://[\w.-]+'))
        and exists (from rank_request as r where r.failure_id = f.failure_id and contains(r.text, '/' || regexp_extract(f.crash_message, '\w://([\w.-]+)', 1)) and regexp_matches(r.text, '[?&]provider=(aws|s3|gcp|gs|azure|az|oci|oc|ht)\b'))
),
judged as (
    select f.*, n.failure_id is not null as is_misnamed, v.uncovered_ids is not null as is_unseen, e.object_count, e.loss, e.node_id as gone_node_id, e.file_id as gone_file_id, e.line_no as gone_line_no, coalesce(e.loss <> 'evicted_unnamed' and e.object_count > case when e.loss in ('disk_detached', 'joined_empty', 'deleted', 'deleted_behind') then 2 when e.loss in ('disk_lost', 'registered_twice', 'corrupt') then 0 else 1 end and (e.loss <> 'deleted_behind' or e.node_id = f.crash_node_id), false) as is_gone, e.loss in ('deleted', 'deleted_behind') as is_deleted, s.failure_id is not null as is_taken, m.node_id as remark_node_id, m.name as remark_name, m.file_id as remark_file_id, m.line_no as remark_line_no, d.node_id as sudden_node_id, k.broke_words as sudden_words, d.file_id as sudden_file_id, d.line_no as sudden_line_no,
        regexp_matches(f.crash_pattern, 'missing|not_found') and regexp_matches(f.crash_text || ' ' || f.crash_message, '(?i)\w(\\r|\\u000d|%0d)(\W|$)') as is_line_end
    from failure_lead as f
    left join served as s on s.failure_id = f.failure_id left join misnamed as n on n.failure_id = f.failure_id
    left join storage_remark as m on m.failure_id = f.failure_id left join sudden_fault as d on d.failure_id = f.failure_id left join fault_kind as k on k.fault_kind = d.fault_kind
    left join failure_coverage as v on v.failure_id = f.failure_id
    left join object_loss as e on e.failure_id = f.failure_id and e.rank = f.culprit_rank and regexp_matches(f.crash_pattern, 'missing|not_found|entry|skipped')
    qualify row_number() over (partition by f.failure_id order by is_gone desc, e.object_count desc nulls last, e.node_id, e.loss = 'disk_lost', e.loss) = 1
)
select failure_id, 'data_error' as finding,
    case when crash_class = 'data' and (is_gone or failure_id not in (select failure_id from bucket_change)) then 'fired' else 'quiet' end as state,
    case when is_gone then 'storage_io' else 'data' end as failure_class,
    case when is_gone then loss else crash_pattern end as failure_kind,
    case
        when is_gone then 'guilty'
        when (is_misnamed and not is_taken) or is_line_end then 'innocent'
        when object_count > 0 or is_taken or remark_node_id is not null or sudden_node_id is not null or failure_id in (select failure_id from losing) then 'undetermined'
        when stray_count > 0 and regexp_matches(crash_pattern, 'missing|not_found|entry') then 'undetermined'
        when is_unseen and (regexp_matches(crash_pattern, 'truncated|archive_corrupt') and contains(crash_text, '/v1/objects/') or regexp_matches(crash_message, '\betl job \S+ does not exist') and progress_ns is not null) then 'undetermined'
        when (is_storage_seen and link_score < 0.5) or (crash_pattern = 'data_collate_failed' and regexp_extract(crash_message, '(\d+)\] at entry 0', 1) = nullif(regexp_extract(crash_message, '(\d+)\] at entry [1-9]', 1), '')) then 'innocent'
        when is_storage_seen and fault_kind = 'disk_fault' and link_kind = 'fault_time' and crash_node_id <> link_node_id then 'innocent'
        when is_storage_seen and not regexp_matches(crash_pattern, 'missing|not_found|truncated|stop_iteration|entry') and link_kind = 'fault_time' then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    case when is_gone and not is_deleted then gone_node_id end as node_id,
    culprit_rank as rank, null::varchar as chain_id,
    case when is_gone and (object_count > 1 or loss = 'corrupt') and not is_deleted then 0.8 when is_gone then 0.68 when is_line_end then 0.9 when object_count > 0 or is_taken or remark_node_id is not null or sudden_node_id is not null then 0.6 when is_storage_seen and link_score < 0.5 and (coalesce(stray_count, 0) = 0 or not regexp_matches(crash_pattern, 'missing|not_found|entry')) then 0.9 when is_storage_seen then 0.6 else 0.8 end as score,
    culprit_words || ' got data ' || case when culprit_rank is null and alike_count > 1 then 'they' else 'it' end || ' could not use: ' || coalesce(exception || ': ', '') || substr(coalesce(nullif(regexp_extract(crash_message, '"message":"((?:[^"\\]|\\.)+)"', 1), ''), regexp_replace(crash_message, '^[\w.]+: ', ''), crash_pattern), 1, 160)
        || case
            when is_gone and loss = 'disk_lost' then '; target ' || gone_node_id || ' had lost a disk before, and what the rank asked it for is gone'
            when is_gone and loss = 'corrupt' then '; target ' || gone_node_id || ' had found its own copy of it corrupt'
            when is_gone and loss = 'registered_twice' then '; two daemons took turns as target ' || gone_node_id || ', so that the object may lie with the other'
            when is_gone and loss = 'evicted' then '; target ' || gone_node_id || ' had evicted objects (LRU) before, and ' || object_count::varchar || ' that it was asked for are gone'
            when is_line_end then '; the name that was asked for ends with a carriage return, so it comes from a list with lines as Windows ends them' when object_count > 0 then '; ' || case loss
                when 'evicted' then 'target ' || gone_node_id || ' had evicted objects (LRU) before'
                when 'evicted_unnamed' then 'target ' || gone_node_id || ' counts objects that it had evicted (LRU), of whatever buckets'
                when 'misplaced_removed' then 'a rebalance was broken off and then a cleanup removed what it calls misplaced (target ' || gone_node_id || ')'
                when 'joined_empty' then 'target ' || gone_node_id || ' had joined the cluster and had no objects yet'

                when 'deleted' then 'a job of AIStore was deleting objects of the bucket'
                when 'deleted_behind' then 'AIStore deleted objects that were gone from the bucket behind it'
                when 'copy_aborted' then 'a copy into the bucket had ended with an error on target ' || gone_node_id
                else 'a disk of target ' || gone_node_id || ' had been detached'
            end || case when is_gone then ', and ' || object_count::varchar || ' objects of the bucket are gone' else ', so it may have been there' end
            when is_taken then '; AIStore had served that bucket before, so somebody has renamed or removed it since' when remark_node_id is not null then '; AIStore node ' || remark_node_id || ' printed an error about ' || remark_name || ', so it stays open whose fault that was' when sudden_node_id is not null then '; AIStore node ' || sudden_node_id || ' ' || sudden_words || ' in those seconds, so it stays open whose fault that was' else '' end as statement,
    [
        {'file_id': crash_file_id, 'line_no': crash_line_no, 'why': 'the error of ' || culprit_words},
        {'file_id': basis_file_id, 'line_no': basis_line_no, 'why': 'why ' || culprit_words || ': ' || basis_words},
        {'file_id': gone_file_id, 'line_no': gone_line_no, 'why': 'how objects were lost: ' || replace(loss, '_', ' ')}, {'file_id': remark_file_id, 'line_no': remark_line_no, 'why': 'what AIStore node ' || remark_node_id || ' says of ' || remark_name}, {'file_id': sudden_file_id, 'line_no': sudden_line_no, 'why': 'how AIStore node ' || sudden_node_id || ' fared in those seconds'}
    ] as supports,
    case when link_score >= 0.5 then [{'file_id': link_file_id, 'line_no': link_line_no, 'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: ' || fault_kind}] else [] end as contradicts
from judged
where crash_pattern is not null
