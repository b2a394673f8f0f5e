-- What address the error of a culprit speaks of, whether it is another service's than AIStore's,
-- and whether that service keeps objects, so that the job may read its data from it.
-- grain: one row a failure and rank whose words tell of a culprit (rank null: an error whose lines
-- grain: name no rank)
-- reads: culprit_cause, failure_case, failure_coverage, job, job_cluster, last_step, node_endpoint,
-- reads: public_service
-- case: yes
-- note: asked_of is the first address, or the whole line, of what broke off before the error
-- note: (failed_fetch), but for lines in which AIStore tells of its backend. A proxy puts its own
-- note: id (pid, AIStore 3.30 to 5.0) behind an address to which it sends a client, which then did
-- note: not choose it.
create or replace view error_address as
with asked as (
    select
        *,
        case
            when request_pattern = 'fetch_broken'
                and not regexp_matches(request_text, '\b(aws|gcp|azure|oci)-error\[')
                then coalesce(nullif(regexp_extract(request_text, 'https?://[^\s"'']+'), ''),
                    request_text)
            else ''
        end as asked_of,
        request_pattern = 'fetch_broken' and request_node_id is null
            and regexp_matches(request_text, 'ReadFileHandle|vfs cache')
            and not regexp_matches(request_text,
                '://[^/\s"'']+/(s3|v1/objects)/|:5108\d\b|\b(aws|gcp|azure|oci)-error\[|/@ais/'
                    '|/%ob/')
                as is_any_mount
    from culprit_cause
    qualify row_number() over (partition by failure_id, witness_rank order by rank) = 1
),
named as (
    select
        failure_id, witness_rank, asked_of, is_any_mount, frame_kind, crash_pattern, crash_text,
        crash_text || ' ' || coalesce(crash_message, '') || ' ' || asked_of as words,
        coalesce(nullif(regexp_extract(coalesce(endpoint, ''), '^(.*):', 1), ''),
            regexp_extract(asked_of, '://([^/:?]+)', 1))
            as host,
        crash_pattern in ('cloud_store_failed', 'tf_request_failed')
            or (starts_with(crash_pattern, 'tensorstore_') and contains(crash_text, 'gs://'))
            or regexp_matches(crash_text,
                'google\.(api_core|auth)\.|azure\.core\.|gcsfs\.'
                    '|Generic (GCS|MicrosoftAzure) error')
            or (not contains(words, '/v1/') and coalesce(frame_kind, '') = 'hub_wait')
            or starts_with(crash_pattern, 'hf_')
                as is_store_client,
        crash_pattern is null
            or crash_pattern in ('s3_ais_failed', 'sdk_backend_failed', 'sdk_download_failed')
            or (starts_with(crash_pattern, 'sdk_') and contains(crash_text, 'STATUS:'))
            or regexp_matches(crash_text, '/@[a-z]+/[^\s:]+/%[a-z]{2}/') as is_own_answer
    from asked
),
network as (
    select
        f.failure_id,
        list(distinct regexp_extract(e.endpoint, '^[0-9]+\.[0-9]+\.'))
            filter (where e.endpoint is not null) as networks,
        coalesce(bool_or(regexp_matches(e.endpoint, '^(localhost|127\.)')), false)
            or coalesce(any_value(regexp_matches(j.data_source, 'localhost|127\.|::1')), false)
                as is_local,
        coalesce(any_value(regexp_matches(j.data_source, 'via \S+:\d')), false) as is_elsewhere,
        coalesce(
            any_value(v.is_watched and v.covered_ratio = 1.0
                and v.gone_count + v.soon_count + v.stray_count = 0),
            false)
            and bool_and(s.job_id is null) as is_never_there
    from failure_case as f
    left join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    left join node_endpoint as e on e.cluster = c.cluster
    left join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    left join failure_coverage as v on v.failure_id = f.failure_id
    left join last_step as s on s.job_id = f.job_id and s.attempt = f.attempt
    group by f.failure_id
)
select
    n.failure_id,
    n.witness_rank as rank,
    n.host,
    n.asked_of,
    coalesce(n.is_any_mount, false) as is_any_mount,
    coalesce(regexp_matches(n.host, '^(localhost|127\.[0-9.]+|\[?::1\]?)$') and not w.is_local
        and not regexp_matches(n.words, '[?&]pid=') and (w.is_elsewhere or w.is_never_there), false)
        as is_own_host,
    not n.is_own_answer and coalesce(
        n.is_store_client
        or (coalesce(n.frame_kind, '') in ('log_upload', 'another_service')
            and not contains(n.words, '/v1/'))
        or regexp_matches(n.words, '(with url: |https?://[^/\s]+)/api/')
        or regexp_matches(n.words, '(?i)(?:' || s.host_patterns || '|arn:aws:)')
        or (regexp_matches(n.host, '^[0-9.]+$') and not contains(n.words, '/v1/')
            and not list_contains(w.networks, regexp_extract(n.host, '^[0-9]+\.[0-9]+\.'))),
        false
    ) as is_foreign,
    is_foreign and coalesce(
        n.is_store_client or regexp_matches(n.words, '(?i)(?:' || s.store_patterns || ')'),
        false
    ) as is_other_store
from named as n
cross join (
    select string_agg(host_pattern, '|') as host_patterns,
        string_agg(host_pattern, '|') filter (where is_store) as store_patterns
    from public_service
) as s
left join network as w on w.failure_id = n.failure_id
