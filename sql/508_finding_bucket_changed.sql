-- Somebody changed or took away the bucket that a job was reading: since then AIStore refuses what
-- it gave before.
-- grain: one row a failure
-- reads: failure_lead, bucket_change
-- case: yes
-- note: The client asked as it had asked before, and AIStore's answer is true to the new state:
-- note: whoever runs the storage changed it under a job. No node is to blame.
create or replace view finding_bucket_changed as
select
    f.failure_id,
    'bucket_changed' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    'bucket_changed' as failure_kind,
    'guilty' as storage_verdict,
    f.culprit_rank as rank,
    f.culprits_words || ' failed with ' || coalesce(f.exception, f.crash_pattern)
        || ' because a bucket of AIStore was changed while the job read from it ('
        || c.action || ' at ' || strftime(make_timestamp_ns(c.utc_ns)::timestamp, '%H:%M:%S')
            || ' UTC): no request for ' || c.bucket || ' had failed before, and '
            || c.line_count::varchar || if(c.line_count = 1, ' has since', ' have since')
            as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no,
        'why': 'the error of ' || f.culprit_words},
        {'term': 'change', 'file_id': c.file_id, 'line_no': c.line_no,
        'why': 'the change: ' || c.action},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
        'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports
from failure_lead as f
join bucket_change as c on c.failure_id = f.failure_id and c.is_proven
where f.crash_pattern is not null
