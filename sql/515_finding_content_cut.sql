-- A rank read content that ends too early at the moment when a disk began to break off what a target of AIStore was sending of that bucket.
-- grain: one row a failure of this kind
-- reads: failure_lead, node_witness, job, threshold
-- stored: yes
-- empty without: failure_lead where crash_pattern is not null
-- empty without: node_witness where effect = 'io_error'
-- note: A target that cannot read on in the middle of an answer can only close it, and a library that is handed the rest knows no object. An object that is short itself ends just so: the target must say that a read from its disk broke off what it was sending (transmit) of a bucket that the job reads, as close to the error as lines can tell (fault_slack_s), and had not said so of this bucket before (felt_after_s), which a disk that fails for long has; all such lines are one target's. An error that names a file is judged by that name (finding_object_unread), and where most ranks fail alike it is the content, or the first of all files, that is short.
create or replace view finding_content_cut as
with ended as (
    select
        f.*, j.data_source,
        f.crash_ns - s.value * 1e9 as from_ns, f.crash_latest_ns + s.value * 1e9 as to_ns, f.crash_ns - a.value * 1e9 as onset_ns
    from failure_lead as f
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
    join threshold as s on s.name = 'fault_slack_s'
    join threshold as a on a.name = 'felt_after_s'
    where f.is_cluster_sure and f.culprit_rank is not null and f.crash_class in ('data', 'software') and f.object is null and f.crash_latest_ns - f.crash_ns <= a.value * 1e9
        and coalesce(f.frame_kind, 'other') not in ('collective', 'log_upload', 'hub_wait', 'another_service')
        and regexp_matches(f.crash_message, '(?i)\btruncat|\bunexpected (eof|end)|premature|\bend of (file|stream|data)\b|\beof\b|\bincomplete\b|\bshort read\b|\bends? (too )?early|\bexpected (to (be able to )?read )?\d+\b.*\b(got|only|read|received|found) \d+|\b(got|read|received) (only )?\d+ (bytes )?(out )?(of|instead of|but expected) \d+|\b(not enough|too few) (data|bytes)|\bran out of input|\bno data left|\bfile is too small')
        and not regexp_matches(f.crash_message, '[\w-]+/[\w./-]*\.\w+|\w\.(tar|arrow|parquet|npy|npz|flac|wav|mp3|ogg|jpe?g|png|webp|mp4|pt|bin|json\w*|csv|gz|zst|h5|hdf5|safetensors|tfrecord\w*|idx|lance|avro|msgpack)\b')
),
broken as (
    select e.failure_id, w.node_id, w.utc_ns, w.file_id, w.line_no, w.utc_ns between e.from_ns and e.to_ns as is_close, w.utc_ns < e.onset_ns as is_before
    from ended as e
    join node_witness as w on w.cluster = e.cluster and w.effect = 'io_error' and w.utc_ns between e.started_ns and e.to_ns
        and regexp_matches(w.text, '\btransmit') and regexp_matches(w.text, '(?i)input/output error|\bEIO\b|i/o error')
        and regexp_matches(e.data_source, '(^|[/\s,])' || regexp_escape(regexp_extract(w.text, '\w://([^/\s"]+)/', 1)) || '($|[^\w.-])')
),
met as (
    select failure_id, min(node_id) as node_id, arg_max(file_id, (is_close, utc_ns, file_id, line_no)) as file_id, arg_max(line_no, (is_close, utc_ns, file_id, line_no)) as line_no
    from broken
    group by failure_id
    having count(distinct node_id) = 1 and bool_or(is_close) and not bool_or(is_before)
)
select
    f.failure_id,
    'content_cut' as finding,
    'fired' as state,
    'storage_io' as failure_class,
    'disk_errors' as failure_kind,
    'guilty' as storage_verdict,
    m.node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    0.8 as score,
    f.culprit_words || ' failed with ' || coalesce(f.exception, f.crash_pattern) || ' over content that ends early, as a disk of AIStore node ' || m.node_id || ' broke off what it was sending of that bucket' as statement,
    [
        {'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the error of ' || f.culprit_words},
        {'file_id': m.file_id, 'line_no': m.line_no, 'why': 'an answer that a disk of ' || m.node_id || ' broke off at that moment'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'why ' || f.culprit_words || ': ' || f.basis_words}
    ] as supports,
    [{'file_id': f.crash_file_id, 'line_no': f.crash_line_no, 'why': 'the tie is by time and bucket: the error names no object'}] as contradicts
from ended as f
join met as m on m.failure_id = f.failure_id
