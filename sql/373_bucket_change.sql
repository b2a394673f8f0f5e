-- A change to a bucket since which AIStore refuses, or does not find, what it gave a job before.
-- grain: one row a failure; of several changes the last before the first refusal, or the error
-- reads: failure_case, failure_coverage, culprit_cause, rank_request, ais_event, threshold
-- case: yes
-- note: The line about a change names no bucket, but where targets say which one they destroyed. It
-- note: is that of the job if the job had trained or AIStore had worked on the bucket in its time,
-- note: no request for the bucket had failed since it began, and from within fault_bite_s of the
-- note: change on several do, of several objects or of the bucket as a whole. Requests that clients
-- note: broke off are none. Where AIStore's lines do not prove it (is_proven), but the rank was
-- note: refused a bucket as a whole, a change in the job's time may still be why. destroy-bck
-- note: concerns AIStore's own buckets; one of a cloud is evicted (AIStore 3.x to 5.0,
-- note: api/apc/actmsg.go).
create or replace view bucket_change as
with wanted as (
    select distinct
        f.failure_id, v.cluster, f.started_ns, f.began_ns, f.has_trained,
        coalesce(f.crash_latest_ns, f.ended_ns) as crash_latest_ns,
        coalesce(nullif(regexp_extract(coalesce(r.bucket, ''), '([^/]+)$', 1), ''),
            nullif(
                regexp_extract(coalesce(r.url, '') || ' ' || r.text,
                    '(?:/v1/(?:objects|buckets|ml/moss)/|/s3/)([^/?\s"\\,]+)', 1),
                ''),
            nullif(regexp_extract(r.text, '\w://([\w.-]+)/', 1), ''))
            as bucket,
        u.crash_text || coalesce(u.crash_message, '') as said,
        regexp_matches(said,
            'ErrRemoteBck|cloud bucket|[?&]provider=(aws|s3|gcp|gs|azure|oci)\b')
            as is_remote,
        regexp_matches(said,
            'BckNotFound|NoSuchBucket|bucket \S+ does not exist|access denied|AccessDenied')
            as is_whole
    from failure_case as f
    join failure_coverage as v on v.failure_id = f.failure_id and v.cluster is not null
    join culprit_cause as u on u.failure_id = f.failure_id and u.culprit_no = 1
    join rank_request as r on r.failure_id = f.failure_id and r.rank = u.witness_rank
        and r.outcome in ('missing', 'error', 'retry')
    where regexp_matches(said,
            'STATUS:4\d\d|\b4\d\d (Client )?Error|\(4\d\d\)|NoSuch|AccessDenied|Forbidden|does not '
                'exist|[Nn]ot ?[Ff]ound')
),
change as (
    select cluster, min(utc_ns) as utc_ns, json_extract_string(capture, '$.action') as action,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from ais_event
    where pattern = 'ais_bucket_changed'
    group by cluster, action,
        coalesce(json_extract_string(capture, '$.bmd_version'),
            json_extract_string(capture, '$.sent_version'))
),
destroyed as (
    select cluster, bucket, min(utc_ns) as utc_ns,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no
    from ais_event
    where pattern = 'ais_bucket_destroyed' group by cluster, bucket, utc_ns // 1000000000
),
refused as (
    select
        w.failure_id, w.bucket, e.utc_ns,
        regexp_extract(e.text, ' (?:GET|HEAD|POST|PUT) (/\S+)', 1) as path,
        regexp_matches(e.text, 'bucket \\?"[^"]*" does not exist|bucket \S+: \w+ access denied')
            as is_whole
    from wanted as w
    join ais_event as e on e.cluster = w.cluster and e.severity = 'E'
        and e.utc_ns between w.started_ns and w.crash_latest_ns + 60000000000
        and (contains(e.text, '/objects/' || w.bucket || '/')
            or contains(e.text, '/s3/' || w.bucket || '/')
            or contains(e.text, '/moss/' || w.bucket || '/')
            or contains(e.text, '/moss/' || w.bucket || ' ')
            or contains(e.text, '/buckets/' || w.bucket)
                or contains(e.text, '://' || w.bucket || '/')
                or contains(e.text, '://' || w.bucket || '"'))
    where length(w.bucket) > 1
        and not regexp_matches(e.text,
            '(?i)broken pipe|reset by peer|client gone|context canceled|failed to transmit')
),
served as (
    select w.failure_id, w.bucket,
        min(if(w.has_trained, w.started_ns, e.utc_ns)) as served_ns
    from wanted as w
    left join ais_event as e on e.cluster = w.cluster and e.utc_ns >= w.started_ns
        and regexp_matches(e.text, '://' || regexp_escape(w.bucket) || '($|[^\w.-])')
    group by w.failure_id, w.bucket
),
counted as (
    select r.failure_id, r.bucket, min(r.utc_ns) as first_ns, count(distinct r.path) as path_count,
        count(*) as line_count, bool_or(r.is_whole) as is_whole, any_value(s.served_ns) as served_ns
    from refused as r
    join served as s on s.failure_id = r.failure_id and s.bucket = r.bucket
    group by r.failure_id, r.bucket
)
select
    w.failure_id,
    w.bucket,
    h.action,
    h.utc_ns,
    c.first_ns is not null or coalesce(d.utc_ns > w.started_ns and w.has_trained, false)
        as is_proven,
    if(d.bucket is null, 'a bucket of AIStore was changed', 'AIStore destroyed ' || d.bucket)
        || ' in the job''s time' || if(h.utc_ns > w.started_ns, '',
        ' or in the hour before its first line that has a time') || ' (' || h.action || ' at '
        || strftime(make_timestamp_ns(h.utc_ns)::timestamp, '%H:%M:%S') || ' UTC)' as says,
    c.line_count,
    coalesce(d.file_id, h.file_id) as file_id,
    if(d.file_id is null, h.line_no, d.line_no) as line_no
from wanted as w
join change as h on h.cluster = w.cluster and h.utc_ns > w.began_ns
    and h.utc_ns <= w.crash_latest_ns and (h.action <> 'destroy-bck' or not w.is_remote)
join threshold as t on t.name = 'fault_bite_s'
left join counted as c on c.failure_id = w.failure_id and c.bucket = w.bucket
    and (c.path_count > 1 or c.is_whole) and h.utc_ns <= c.first_ns
    and h.utc_ns >= c.first_ns - t.value::bigint * 1000000000
    and h.utc_ns >= c.served_ns
left join destroyed as d on d.cluster = w.cluster and d.bucket = 'ais://' || w.bucket
    and h.action = 'destroy-bck' and abs(d.utc_ns - h.utc_ns) <= 2000000000
where c.first_ns is not null or d.utc_ns is not null
    or (w.is_whole and not exists (from refused as r
        where r.failure_id = w.failure_id and r.bucket = w.bucket and r.utc_ns < h.utc_ns))
qualify row_number()
    over (partition by w.failure_id
        order by is_proven desc, h.utc_ns desc, c.line_count desc, h.file_id, h.line_no, w.bucket)
        = 1
