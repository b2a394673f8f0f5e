"""The stored tables that ingestion fills: columns, DuckDB types, units, one sentence each.

Everything else in the database is a view over these tables, or a table computed from such a view
(see views/spec.py). `*_ns` columns hold the clock as the source printed it, read as if it were UTC, in
nanoseconds since 1970; the view `clock` says what must be subtracted to get UTC.
"""

from __future__ import annotations

from aiscorr.schema.analysis import CASE_INPUT, CHANGED_TABLE, CONCLUSION, FAILURE_NAME, VIEW_STATE
from aiscorr.schema.cluster import NODE_SNAPSHOT, NODE_SNAPSHOT_COUNTER, PULL_MISS
from aiscorr.schema.flight import FLIGHT_COLLECTIVE, FLIGHT_DUMP, FLIGHT_GROUP
from aiscorr.schema.retention import RETENTION_LOG, ROW_REMOVAL
from aiscorr.schema.stacks import STACK_FRAME, TRACE_CALL
from aiscorr.schema.table import Column, Table
from aiscorr.schema.table import columns as _columns

__all__ = ["Column", "Table"]

_PLACE = (
    ("file_id", "INTEGER", "the file, as in source_file"),
    ("line_no", "BIGINT", "line number from 1, in the decompressed original; null in a dump"),
    ("byte_offset", "BIGINT", "bytes before the line in the decompressed original"),
)

_ZONE_OFFSET = (
    "zone_offset_s",
    "INTEGER",
    "seconds east of UTC where the stamp prints its zone (local_ns is UTC then), else null",
)

INGESTED_FILE = Table(
    "ingested_file",
    "a file or archive member that ingest has seen, with what its content and path say about it",
    _columns(
        ("file_id", "INTEGER", "number of the file, kept when it grows or is replaced"),
        ("path", "VARCHAR", "absolute path, archive!member inside an archive"),
        ("member", "VARCHAR", "name inside the archive, else null"),
        ("kind", "VARCHAR", "ais_log, worker_log, flight_recorder, stack_dump, node_status or unknown"),
        ("kind_reason", "VARCHAR", "why this kind, or why unknown"),
        ("state", "VARCHAR", "ingested, duplicate (same bytes as another file), unreadable or unknown"),
        ("duplicate_of", "INTEGER", "file_id of the file with the same bytes"),
        ("content_hash", "VARCHAR", "identity of the bytes: length, CRC-32, SHA-256 of both ends"),
        ("head_hash", "VARCHAR", "SHA-256 of the first 4096 bytes, hexadecimal"),
        ("byte_count", "BIGINT", "decompressed bytes read"),
        ("stored_byte_count", "BIGINT", "size of the file or of its archive on disk, bytes"),
        ("modified_ns", "BIGINT", "modification time of the file (of the member, inside an archive)"),
        ("resume_offset", "BIGINT", "where reading goes on when the file has grown, bytes"),
        ("resume_state", "VARCHAR", "what the reader knew there, JSON"),
        ("line_count", "BIGINT", "lines read"),
        ("event_count", "BIGINT", "lines that became events, statistics lines included"),
        ("counter_count", "BIGINT", "counter values read"),
        ("reject_count", "BIGINT", "lines in reject"),
        ("first_ns", "BIGINT", "first time stamp as printed"),
        ("last_ns", "BIGINT", "last time stamp as printed"),
        ("is_utc", "BOOLEAN", "the times above are UTC already (the source printed its zone)"),
        ("date_method", "VARCHAR", "where the calendar date came from: header, stamp, file_name, given, mtime"),
        ("date_line_no", "BIGINT", "line that gave the date"),
        ("zone", "VARCHAR", "IANA zone given by the user, else null"),
        ("cluster", "VARCHAR", "cluster given by the user or the Smap's id, else null"),
        ("is_cluster_given", "BOOLEAN", "the cluster was given, not inferred from the Smap"),
        ("node_id", "VARCHAR", "AIStore daemon id of the writer"),
        ("node_role", "VARCHAR", "target or proxy"),
        ("node_id_source", "VARCHAR", "title, start_line, self_mention, file_name or folder"),
        ("host", "VARCHAR", "host name the file states"),
        ("pod", "VARCHAR", "Kubernetes pod the file states"),
        ("version", "VARCHAR", "AIStore or PyTorch version the file states"),
        ("job_id", "VARCHAR", "job id given, or told by the file's own text or name"),
        ("job_folder", "VARCHAR", "folder that stands for the job where no id is known"),
        ("run_name", "VARCHAR", "torchrun run id (rdzv id) in the path, else null"),
        ("attempt_no", "INTEGER", "attempt in the path (attempt_N), else null"),
        ("worker_node_no", "INTEGER", "number of the job's node the file belongs to, else null"),
        ("path_rank", "INTEGER", "global rank in the file name, else null"),
        ("path_local_rank", "INTEGER", "local rank in the path, else null"),
        ("is_stream_copy", "BOOLEAN", "a --tee stream or launcher's stream that repeats per-rank files"),
        ("problem", "VARCHAR", "what went wrong while reading, else null"),
        ("options_key", "VARCHAR", "options that change how the file is read"),
        ("parser_version", "INTEGER", "version of the reader that made the rows"),
        ("run_id", "BIGINT", "ingest run that read the file last"),
    ),
)

AIS_LINE = Table(
    "ais_line",
    "a warning, an error, a header or a recognised line of an AIStore daemon, as written",
    _columns(
        *_PLACE,
        ("process_no", "INTEGER", "run of the daemon inside the file, from 0; 0 = its header is not in this file"),
        ("local_ns", "BIGINT", "the line's clock, date resolved, nanoseconds"),
        ("severity", "VARCHAR", "I, W, E; null for header and title lines"),
        ("source_loc", "VARCHAR", "file:line in AIStore's source as printed; moves with each release"),
        ("pattern", "VARCHAR", "recognised pattern, else other_warning or other_error"),
        ("text", "VARCHAR", "the line as written, at most 4096 characters"),
        ("message_start", "INTEGER", "characters before the message in text"),
        ("follow_count", "INTEGER", "unprefixed lines that belong to this record"),
        ("xid", "VARCHAR", "xaction id"),
        ("wid", "VARCHAR", "work item (request) id of x-get-batch"),
        ("peer_node_id", "VARCHAR", "the other node the line is about"),
        ("endpoint", "VARCHAR", "host:port in the line"),
        ("bucket", "VARCHAR", "bucket with provider, ais://name"),
        ("object", "VARCHAR", "object name"),
        ("error", "VARCHAR", "innermost error text"),
        ("smap_version", "INTEGER", "version of the cluster map the line speaks of"),
        ("smap_uuid", "VARCHAR", "cluster id inside the Smap text"),
        ("rebalance", "VARCHAR", "rebalance id, g<N>"),
        ("mountpath", "VARCHAR", "mountpath"),
        ("status_code", "INTEGER", "HTTP status"),
        ("age_ns", "BIGINT", "age of the work item or duration in the line, nanoseconds"),
        ("received_count", "BIGINT", "objects a work item had assembled"),
        ("is_streaming", "BOOLEAN", "the batch was streamed"),
        ("capture", "VARCHAR", "other captured fields, JSON"),
    ),
)

STATS_LINE = Table(
    "stats_line",
    "a periodic {…} statistics line of an AIStore daemon",
    _columns(
        *_PLACE,
        ("process_no", "INTEGER", "run of the daemon inside the file, from 0"),
        ("local_ns", "BIGINT", "the line's clock, date resolved, nanoseconds"),
        ("name_count", "INTEGER", "counters read from it"),
        ("is_complete", "BOOLEAN", "ends with a brace: nlog did not cut it"),
    ),
)

COUNTER_SAMPLE = Table(
    "counter_sample",
    "the value of one counter on one statistics line, as printed",
    _columns(
        ("file_id", "INTEGER", "the file, as in source_file", "rle"),
        ("line_no", "BIGINT", "line number from 1", "rle"),
        ("process_no", "INTEGER", "run of the daemon inside the file, from 0", "rle"),
        ("local_ns", "BIGINT", "the line's clock, date resolved, nanoseconds", "rle"),
        ("name", "VARCHAR", "counter as printed, err.getbatch.n"),
        ("value", "BIGINT", "value as printed: count, bytes, nanoseconds or bit mask by kind", "bitpacking"),
    ),
)

WORKER_LINE = Table(
    "worker_line",
    "a recognised line of a training worker's log, as written",
    _columns(
        *_PLACE,
        ("attempt_no", "INTEGER", "job attempt inside the file, from 0"),
        ("local_ns", "BIGINT", "time stamp of the line, else of the nearest stamped line before it"),
        (
            "stamp_source",
            "VARCHAR",
            "own (the line's), wrapper (a collector's), before (an earlier line's) or after (the first of the file)",
        ),
        _ZONE_OFFSET,
        ("rank", "INTEGER", "global rank the line states, else the file's"),
        ("rank_source", "VARCHAR", "tag, file, field, group, pid, local or task"),
        ("local_rank", "INTEGER", "rank on its node"),
        ("group_rank", "INTEGER", "rank inside the process group of the line"),
        ("task", "INTEGER", "task number of an srun -l label", "rle"),
        ("pid", "BIGINT", "process id the line names"),
        ("host", "VARCHAR", "host the line names"),
        ("severity", "VARCHAR", "error, warning or info"),
        ("pattern", "VARCHAR", "recognised pattern"),
        ("text", "VARCHAR", "the line as written, around the match, at most 4096 characters"),
        ("body_start", "INTEGER", "characters before what the program itself wrote: collector wrappers and rank tag"),
        ("message_start", "INTEGER", "characters before the message in text: wrapper, stamp, rank tag"),
        ("process_group", "VARCHAR", "process group: GUID and description, 0(default_pg)"),
        ("seq_num", "BIGINT", "sequence number of the collective in its group"),
        ("op_type", "VARCHAR", "operation, ALLREDUCE"),
        ("numel_in", "BIGINT", "elements sent", "rle"),
        ("numel_out", "BIGINT", "elements received", "rle"),
        ("timeout_ms", "BIGINT", "time-out of the collective, milliseconds", "rle"),
        ("ran_for_ms", "BIGINT", "how long it had run, milliseconds", "rle"),
        ("last_enqueued", "BIGINT", "last collective enqueued in the group, -1 = none", "rle"),
        ("last_completed", "BIGINT", "last collective completed in the group, -1 = none", "rle"),
        ("peer_rank", "INTEGER", "another rank the line names", "rle"),
        ("exit_code", "INTEGER", "exit code, negative = signal", "rle"),
        ("exception", "VARCHAR", "exception type, last name only"),
        ("user_location", "VARCHAR", "file:line of the user's code"),
        ("endpoint", "VARCHAR", "host:port of a request"),
        ("url", "VARCHAR", "request address without query"),
        ("request_ns", "BIGINT", "when AIStore redirected the request, UTC (utm of the address)", "rle"),
        ("wid", "VARCHAR", "work item id of x-get-batch"),
        ("xid", "VARCHAR", "xaction id"),
        ("node_id", "VARCHAR", "AIStore daemon the line names"),
        ("bucket", "VARCHAR", "bucket with provider, ais://name"),
        ("object", "VARCHAR", "object name"),
        ("status_code", "INTEGER", "HTTP status", "rle"),
        ("retry_no", "INTEGER", "which retry, from 1", "rle"),
        ("retry_limit", "INTEGER", "retries allowed", "rle"),
        ("wait_s", "DOUBLE", "seconds waited", "rle"),
        ("received_count", "BIGINT", "entries received of a batch", "rle"),
        ("expected_count", "BIGINT", "entries asked for", "rle"),
        ("step", "BIGINT", "training step"),
        ("world_size", "INTEGER", "ranks expected", "rle"),
        ("block_line_no", "BIGINT", "first line of the traceback or table the line ends", "rle"),
        ("is_uncaught", "BOOLEAN", "the exception ended the process (printed by the excepthook)", "rle"),
        ("is_chained", "BOOLEAN", "a later exception of the same traceback replaced this one", "rle"),
        (
            "frame_kind",
            "VARCHAR",
            "what the traceback was doing: storage, data_loading, decoding, checkpoint, collective, log_upload …",
        ),
        ("collective", "VARCHAR", "torch.distributed function in the traceback"),
        ("capture", "VARCHAR", "other captured fields, JSON"),
    ),
)

WORKER_TAIL = Table(
    "worker_tail",
    "one of the last lines a rank wrote before its file ended or its failure spoke",
    _columns(
        *_PLACE,
        ("attempt_no", "INTEGER", "job attempt inside the file, from 0"),
        ("local_ns", "BIGINT", "time stamp of the line, else of the nearest before it"),
        _ZONE_OFFSET,
        ("rank", "INTEGER", "global rank the line states, else the file's"),
        ("local_rank", "INTEGER", "rank on its node"),
        ("activity", "VARCHAR", "what the line says the rank was about to do, else null"),
        ("step", "BIGINT", "training step in the line, else null"),
        ("text", "VARCHAR", "the line as written, at most 4096 characters"),
    ),
)

STEP_LINE = Table(
    "step_line",
    "a progress line of a training framework that was kept, as written",
    _columns(
        *_PLACE,
        ("attempt_no", "INTEGER", "job attempt inside the file, from 0"),
        ("local_ns", "BIGINT", "time stamp of the line, null where it prints none (progress bars)"),
        _ZONE_OFFSET,
        ("rank", "INTEGER", "global rank the line states, else the file's"),
        ("local_rank", "INTEGER", "rank on its node"),
        ("pattern", "VARCHAR", "recognised pattern, one a framework"),
        ("kept", "VARCHAR", "why of many this line was kept: first, sampled (one every 512 KiB) or last"),
        ("step", "BIGINT", "training step the line states"),
        ("epoch", "BIGINT", "epoch the line states"),
        ("step_s", "DOUBLE", "seconds a step took, as printed"),
        ("data_s", "DOUBLE", "seconds of it that the rank waited for data, as printed"),
        ("elapsed_s", "DOUBLE", "seconds since a progress bar began, as printed"),
        ("text", "VARCHAR", "the line as written, at most 512 characters"),
    ),
)

CLOCK_MARK = Table(
    "clock_mark",
    "a line that ties a file's clock to a date, to UTC or to an event that other files saw too",
    _columns(
        ("file_id", "INTEGER", "the file, as in source_file"),
        ("line_no", "BIGINT", "line number from 1"),
        ("process_no", "INTEGER", "run of the daemon, or attempt of the job, inside the file"),
        ("kind", "VARCHAR", "header, utc_marker, zone_marker, smap, utm, epoch, wrapper, jump"),
        ("local_ns", "BIGINT", "the file's clock at that line, nanoseconds"),
        ("utc_ns", "BIGINT", "UTC at that line where it is known, nanoseconds"),
        ("key", "VARCHAR", "what other files may have seen too (cluster and Smap version)"),
        ("text", "VARCHAR", "the line as written"),
    ),
)

REJECTED_LINE = Table(
    "rejected_line",
    "a line or a whole file that could not be understood",
    _columns(
        *_PLACE,
        ("reason", "VARCHAR", "why"),
        ("text", "VARCHAR", "its beginning, at most 512 characters"),
    ),
)

INGEST_LOG = Table(
    "ingest_log",
    "a run of ingest",
    _columns(
        ("run_id", "BIGINT", "number of the run"),
        ("started_at", "TIMESTAMP_NS", "start, UTC"),
        ("ended_at", "TIMESTAMP_NS", "end, UTC"),
        ("outcome", "VARCHAR", "ok, partial (a source could not be read) or failed"),
        ("file_count", "BIGINT", "files looked at"),
        ("new_file_count", "BIGINT", "files new, grown or changed"),
        ("byte_count", "BIGINT", "decompressed bytes read"),
        ("line_count", "BIGINT", "lines read"),
        ("event_count", "BIGINT", "events and counters stored"),
        ("reject_count", "BIGINT", "lines rejected"),
        ("error", "VARCHAR", "what went wrong, else null"),
        ("aiscorr_version", "VARCHAR", "version of aiscorr"),
    ),
)

ARCHIVE_SEEN = Table(
    "archive_seen",
    "an archive that was read to its end, so that it need not be opened again",
    _columns(
        ("path", "VARCHAR", "absolute path of the archive"),
        ("stored_byte_count", "BIGINT", "its size, bytes"),
        ("modified_ns", "BIGINT", "its modification time"),
        ("options_key", "VARCHAR", "options it was read with"),
        ("parser_version", "INTEGER", "version of the reader"),
    ),
)

PATTERN_INFO = Table(
    "pattern",
    "a recognised message: its meaning, what to look at, what to do",
    _columns(
        ("pattern", "VARCHAR", "id of the pattern"),
        ("format", "VARCHAR", "ais, worker, tail or step"),
        ("title", "VARCHAR", "one line"),
        ("means", "VARCHAR", "what it means"),
        ("look_at", "VARCHAR", "where to look next"),
        ("fix", "VARCHAR", "what to do"),
        ("fix_by", "VARCHAR", "who does it: storage, client or training, where the class does not tell"),
        ("source", "VARCHAR", "where the fact is from"),
        ("severity", "VARCHAR", "error, warning or info"),
        ("tier", "VARCHAR", "process, training, data_io, collective, launcher, gpu, network, storage, membership, …"),
        ("role", "VARCHAR", "cause, symptom, consequence, retry, recovery, lifecycle, identity, context or noise"),
        ("failure_class", "VARCHAR", "class it points to when it is the first cause, else null"),
        ("activity", "VARCHAR", "what a rank does that writes it, else null"),
        ("chain_step", "VARCHAR", "step of an x-get-batch chain, else null"),
        ("node_effect", "VARCHAR", "what it says about a node: down, up, hung, removed, …, else null"),
        ("subject", "VARCHAR", "whom node_effect is about: self (the writer) or peer"),
        ("rank_effect", "VARCHAR", "what it says of a rank: timed_out, notified, names_peer, gives_up, …, else null"),
        ("marks", "VARCHAR", "attempt_start, attempt_end or job_success, else null"),
    ),
)

#: Tables whose rows belong to one file and go when the file is read again.
FILE_TABLES: tuple[Table, ...] = (
    AIS_LINE,
    STATS_LINE,
    COUNTER_SAMPLE,
    WORKER_LINE,
    WORKER_TAIL,
    STEP_LINE,
    STACK_FRAME,
    TRACE_CALL,
    FLIGHT_DUMP,
    FLIGHT_GROUP,
    FLIGHT_COLLECTIVE,
    NODE_SNAPSHOT,
    NODE_SNAPSHOT_COUNTER,
    PULL_MISS,
    CLOCK_MARK,
    REJECTED_LINE,
    ROW_REMOVAL,
)

TABLES: tuple[Table, ...] = (
    INGESTED_FILE,
    *FILE_TABLES,
    INGEST_LOG,
    ARCHIVE_SEEN,
    FAILURE_NAME,
    CONCLUSION,
    RETENTION_LOG,
    PATTERN_INFO,
    VIEW_STATE,
    CASE_INPUT,
    CHANGED_TABLE,
)
