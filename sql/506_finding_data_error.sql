-- The data itself is wrong: a missing or misnamed object, a corrupt sample, a manifest that does
-- not fit.
-- grain: one row a failure
-- reads: failure_lead, storage_relation, node, worker_event, object_loss, storage_remark,
-- reads: sudden_fault, fault_kind, node_fault, ais_event, bucket_change, failure_kind
-- case: yes
-- note: Storage that answered truthfully is innocent. Objects that AIStore has lost are its doing
-- note: if several are gone; one may just as well have a wrong name and is left open. Content that
-- note: ends early may be a cut stream: it stays open while a fault was on. What a target does not
-- note: have that was away in the job's time may have been written elsewhere meanwhile, and while
-- note: a target is away others are asked for its objects. Why a target that says so does not have
-- note: an object stands in its own log. A reader that only counts what it skipped says nothing of
-- note: why.
create or replace view finding_data_error as
with served as (
    select distinct f.failure_id from failure_lead as f
    join ais_event as e on e.cluster = f.cluster and e.utc_ns < f.crash_latest_ns
        and not contains(e.text, 'does not exist')
        and regexp_matches(e.text, 'ais://'
            || regexp_escape(regexp_extract(f.crash_message, 'ais://([\w.-]+)', 1))
            || '($|[^\w.-])')
    where regexp_matches(f.crash_pattern, 'bucket_not_found$')
        and regexp_matches(f.crash_message, 'ais://[\w.-]')),
placed as (
    select f.*, r.owner_id, r.is_owner_away, r.is_misnamed
    from failure_lead as f
    left join storage_relation as r on r.failure_id = f.failure_id
        and r.rank is not distinct from f.culprit_rank
),
losing as (
    select f.failure_id from placed as f
        where f.crash_content = 'absent'
        and not regexp_matches(coalesce(f.crash_text, ''), 'No such file or directory: ''?/') and (
        (list_contains(f.short_ids, f.crash_node_id)
            and exists (from object_loss as o
                where o.failure_id = f.failure_id and o.node_id = f.crash_node_id))
        or (f.cluster, f.crash_node_id)
            in (select n.cluster, n.node_id from node as n
                where n.role = 'target'
                    and (select count(*) from node as o
                        where o.cluster = n.cluster and o.role = 'target')
                        >= 3)
            and exists (select 1 from worker_event as v
                where v.job_id = f.job_id and v.node_id is not null and v.object is not null
                    and regexp_matches(v.text, 't\[\w+\]: ais://\S+ does not exist')
                having count(distinct v.node_id) = 1 and min(v.node_id) = f.crash_node_id
                    and count(distinct v.object) >= 4)
        or exists (from node_fault as n
            where n.cluster = f.cluster and n.fault_kind = 'evicting'
                and n.started_ns between f.started_ns - 600e9 and f.ended_ns + 600e9
                and (f.crash_pattern = 'http_not_found'
                    or (n.node_id = f.crash_node_id and n.started_ns <= f.crash_latest_ns)))
            or exists (from ais_event as e
                where e.cluster = f.cluster and e.pattern = 'ais_smap_maintenance'
                    and e.utc_ns between f.started_ns and f.crash_latest_ns
                    and not exists (from node_fault as n
                        where n.cluster = e.cluster and n.fault_kind = 'maintenance'
                            and abs(n.started_ns - e.utc_ns) <= 60e9))
            or exists (from node_fault as n
                join fault_kind as k on k.fault_kind = n.fault_kind and k.takes_away
                where n.cluster = f.cluster and n.started_ns <= f.crash_latest_ns
                    and f.is_misnamed is not true
                    and case when n.node_id = f.crash_node_id then n.ended_ns >= f.started_ns
                        else n.node_id = coalesce(f.owner_id, n.node_id)
                            and n.role = 'target' and n.weight >= 0.8
                            and n.ended_ns >= coalesce(f.crash_ns, f.started_ns)
                                - if(n.started_ns >= f.started_ns, 60e9, 0)
                        end))
),
judged as (
    select f.*, e.object_count, e.loss,
        w.says as loss_says, e.node_id as gone_node_id, e.file_id as gone_file_id,
        e.line_no as gone_line_no,
        coalesce(e.loss <> 'evicted_unnamed'
            and e.object_count
                > case
                    when e.loss in ('disk_detached', 'joined_empty', 'deleted', 'deleted_behind')
                        then 2
                    when e.loss in ('disk_lost', 'registered_twice', 'corrupt') then 0 else 1 end
            and (e.loss <> 'deleted_behind' or e.node_id = f.crash_node_id), false)
            as is_gone,
        e.loss in ('deleted', 'deleted_behind') as is_deleted, s.failure_id is not null as is_taken,
        f.failure_id in (select failure_id from losing) as is_losing,
        m.node_id as remark_node_id, m.name as remark_name, m.file_id as remark_file_id,
        m.line_no as remark_line_no, d.node_id as sudden_node_id, k.broke_words as sudden_words,
        d.file_id as sudden_file_id, d.line_no as sudden_line_no, b.says as change_says,
        b.file_id as change_file_id, b.line_no as change_line_no, b.is_proven as is_changed
    from placed as f
    left join bucket_change as b on b.failure_id = f.failure_id
    left join served as s on s.failure_id = f.failure_id
    left join storage_remark as m on m.failure_id = f.failure_id
        left join sudden_fault as d on d.failure_id = f.failure_id
        left join fault_kind as k on k.fault_kind = d.fault_kind
    left join object_loss as e on e.failure_id = f.failure_id and e.rank = f.culprit_rank
        and (f.crash_content = 'absent' or f.crash_pattern = 'reader_skipped_too_many')
    left join failure_kind as w on w.failure_kind = e.loss
    qualify row_number()
        over (partition by f.failure_id order by is_gone desc, e.object_count desc nulls last,
            e.node_id, e.loss = 'disk_lost', e.loss)
            = 1
)
select failure_id, 'data_error' as finding,
    case when crash_class = 'data'
        and (is_gone or is_changed is not true) then 'fired'
        else 'quiet' end
        as state,
    case when is_gone then 'storage_io' else 'data' end as failure_class,
    case when is_gone then loss else crash_pattern end as failure_kind,
    case
        when is_gone then 'guilty'
        when object_count > 0 or is_taken or remark_node_id is not null
            or sudden_node_id is not null or change_says is not null
            or is_losing then 'undetermined'
        when crash_pattern = 'reader_skipped_too_many' then 'undetermined'
        when crash_content = 'absent' and (stray_count > 0
            or list_contains(uncovered_ids, coalesce(owner_id, crash_node_id))) then 'undetermined'
        when uncovered_ids is not null
            and ((crash_content = 'cut' or crash_pattern = 'archive_corrupt')
                and contains(crash_text, '/v1/objects/')
                or regexp_matches(crash_message, '\betl job \S+ does not exist')
                and has_trained)
                then 'undetermined'
        when (is_storage_seen and link_score < 0.5) then 'innocent'
        when is_storage_seen
            and crash_content is null
            and link_kind = 'fault_time' then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    case when is_gone and not is_deleted then gone_node_id end as node_id,
    culprit_rank as rank,
    culprits_words || ' got data '
        || case when is_plural then 'they' else 'it' end
        || ' could not use: ' || coalesce(exception || ': ', '')
        || substr(
            coalesce(
                replace(
                    nullif(regexp_extract(crash_message, '"message":"((?:[^"\\]|\\.)+)"', 1), ''),
                    '\"', '"'),
                regexp_replace(crash_message, '^[\w.]+: ', ''), crash_pattern),
            1, 160)
        || case
            when object_count > 0 then '; ' || lower(loss_says[1]) || rtrim(loss_says[2:], '.')
                || coalesce(' (' || gone_node_id || ')', '')
                || case when is_gone then '' else ', so it may have been there' end
            when is_taken
                then '; AIStore had served that bucket before, so somebody has renamed or removed '
                    'it since'
                when change_says is not null then '; ' || change_says
                when remark_node_id is not null then '; AIStore node ' || remark_node_id
                    || ' printed an error about ' || remark_name
                    || ', so it stays open whose fault that was'
                when sudden_node_id is not null then '; AIStore node ' || sudden_node_id || ' '
                    || sudden_words || ' in those seconds, so it stays open whose fault that was'
                when is_losing then '; '
                    || coalesce('by its name it belongs on target '
                            || case when is_owner_away then owner_id end || ', which was away',
                        'a node, a disk or a clean-up was changing then what AIStore holds')
                    || ', so it may have been there'
                when not is_owner_away
                    and not list_contains(coalesce(uncovered_ids, []), owner_id)
                    then '; by its name it belongs on target ' || owner_id
                        || ', which was not away'
                when is_misnamed then '; others are missing too that by their names belong on '
                    'targets which were not away'
                else '' end as statement,
    [
        {'term': 'error', 'file_id': crash_file_id, 'line_no': crash_line_no,
        'why': 'the error of ' || culprit_words},
        {'file_id': basis_file_id, 'line_no': basis_line_no,
        'why': 'why ' || culprit_words || ': ' || basis_words},
        {'term': case when is_gone then 'lost' end, 'file_id': gone_file_id,
        'line_no': gone_line_no,
        'why': 'how objects were lost: ' || replace(loss, '_', ' ')},
        {'term': case when is_gone and (object_count > 1 or loss = 'corrupt') and not is_deleted
            then 'several_lost' end},
        {'term': case when is_gone then null
            when object_count > 0 or is_taken or remark_node_id is not null
                or sudden_node_id is not null or change_says is not null then 'maybe_storage'
            when is_storage_seen and link_score < 0.5
                and (coalesce(stray_count, 0) = 0
                    or crash_content is distinct from 'absent')
                then 'storage_well'
            when is_storage_seen then 'maybe_storage' end},
        {'file_id': change_file_id, 'line_no': change_line_no, 'why': change_says},
        {'file_id': remark_file_id,
        'line_no': remark_line_no,
        'why': 'what AIStore node ' || remark_node_id || ' says of ' || remark_name},
        {'file_id': sudden_file_id, 'line_no': sudden_line_no,
        'why': 'how AIStore node ' || sudden_node_id || ' fared in those seconds'}
    ] as supports,
    case
        when link_score >= 0.5
            then [{'file_id': link_file_id, 'line_no': link_line_no,
                'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment'
                    || coalesce(': ' || fault_kind, '')}]
        else [] end
        as contradicts
from judged
where crash_pattern is not null
