-- The program of a rank failed over a file that a target of AIStore could not read from its disk just before.
-- grain: one row a failure
-- reads: failure_lead, node_witness, threshold
-- case: yes
-- note: Below a mount the client's error is the program's own: a library that returns nothing for a picture it could not read, and a check that fails. The name in the rank's error and the object in the target's line must agree to the last folder, and the target must have met an I/O error on it, not its absence, within felt_after_s before. What a retry of the mount mended would not have failed the program over this very file.
create or replace view finding_object_unread as
with unread as (
    select
        f.failure_id, f.culprit_rank, f.culprit_words, f.crash_pattern, f.exception, f.crash_file_id, f.crash_line_no, f.basis_file_id, f.basis_line_no, f.basis_words, w.node_id, w.file_id, w.line_no,
        regexp_extract(w.text, '(?:/%ob/|\w://[^/\s"]+/|/(?:v1/objects|s3)/[^/\s"]+/)([^\s":?]+)', 1) as lost
    from failure_lead as f
    join threshold as p on p.name = 'felt_after_s'
    join threshold as q on q.name = 'felt_before_s'
    join node_witness as w on w.cluster = f.cluster and w.effect = 'io_error' and w.utc_ns between f.crash_ns - p.value * 1e9 and coalesce(f.crash_latest_ns, f.crash_ns) + q.value * 1e9
    where f.crash_class in ('software', 'data') and f.is_cluster_sure
        and contains(f.crash_text || ' ' || coalesce(f.crash_message, ''), regexp_extract(lost, '/?(?:[^/]+/)?[^/]+$')) and regexp_matches(lost, '\w\.\w+$')
        and regexp_matches(w.text, '(?i)input/output error|\bEIO\b|i/o error')
    qualify row_number() over (partition by f.failure_id order by abs(w.utc_ns - f.crash_ns), w.file_id, w.line_no) = 1
)
select
    f.failure_id,
    'object_unread' as finding,
    case when u.failure_id is null then 'quiet' else 'fired' end as state,
    'storage_io' as failure_class,
    'disk_errors' as failure_kind,
    'guilty' as storage_verdict,
    u.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.9 as score,
    coalesce(u.culprit_words || ' failed with ' || coalesce(u.exception, u.crash_pattern) || ' over ' || u.lost || ', which AIStore node ' || u.node_id || ' could not read from its disk', 'no target says that it could not read what the error names') as statement,
    [
        {'file_id': u.crash_file_id, 'line_no': u.crash_line_no, 'why': 'the error of ' || u.culprit_words},
        {'file_id': u.file_id, 'line_no': u.line_no, 'why': 'the disk of ' || u.node_id || ' failed on this very object'},
        {'file_id': u.basis_file_id, 'line_no': u.basis_line_no, 'why': 'why ' || u.culprit_words || ': ' || u.basis_words}
    ] as supports,
    [] as contradicts
from failure_lead as f
left join unread as u on u.failure_id = f.failure_id
where f.crash_pattern is not null
