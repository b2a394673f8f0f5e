"""The stored tables of Flight Recorder dumps; they are listed in tables.py."""

from __future__ import annotations

from aiscorr.schema.table import Table, columns

FLIGHT_DUMP = Table(
    "flight_dump",
    "a Flight Recorder dump that could be read",
    columns(
        ("file_id", "INTEGER", "the file, as in source_file"),
        ("rank", "INTEGER", "global rank: told by the groups of the dump, else by the file name"),
        ("rank_source", "VARCHAR", "groups (the one rank that all groups of the dump share) or name"),
        ("name_rank", "INTEGER", "rank in the file name"),
        ("host", "VARCHAR", "host in the file name, else null"),
        ("format_version", "VARCHAR", "version the dump states; list = the plain list of PyTorch 2.2"),
        ("is_json", "BOOLEAN", "JSON, else a pickle"),
        ("backend", "VARCHAR", "communication library its records name: nccl, gloo, …"),
        ("comm_lib_version", "VARCHAR", "version of that library"),
        ("entry_count", "BIGINT", "records in the dump"),
        ("has_stacks", "BOOLEAN", "records have call stacks"),
        ("first_ns", "BIGINT", "first moment in it, UTC"),
        ("last_ns", "BIGINT", "last moment in it, UTC"),
        ("modified_ns", "BIGINT", "modification time of the file"),
    ),
)

FLIGHT_GROUP = Table(
    "flight_group",
    "a process group as one Flight Recorder dump has it",
    columns(
        ("file_id", "INTEGER", "the file, as in source_file"),
        ("pg_id", "VARCHAR", "number of the group inside the process; null where only its members are known"),
        ("guid", "VARCHAR", "name of the group, the same on all ranks; null where nothing tells it"),
        ("description", "VARCHAR", "description, default_pg or TENSOR_MODEL_PARALLEL_GROUP"),
        ("ranks", "VARCHAR", "members, global ranks in the order of the group, JSON"),
        ("last_enqueued", "BIGINT", "last collective enqueued in the group, -1 = none"),
        ("last_started", "BIGINT", "last collective started in the group, -1 = none or not recorded (gloo)"),
        ("last_completed", "BIGINT", "last collective completed in the group, -1 = none"),
    ),
)

FLIGHT_COLLECTIVE = Table(
    "flight_collective",
    "a record of a Flight Recorder dump: one collective, send or receive of one rank",
    columns(
        ("file_id", "INTEGER", "the file, as in source_file"),
        ("entry_no", "BIGINT", "position in the dump, from 1"),
        ("record_id", "BIGINT", "number of the record in its process, over all groups"),
        ("pg_id", "VARCHAR", "number of the group inside the process"),
        ("guid", "VARCHAR", "name of the group, the same on all ranks"),
        ("description", "VARCHAR", "description of the group"),
        ("seq_num", "BIGINT", "sequence number of the collective in its group"),
        ("p2p_seq_num", "BIGINT", "sequence number among sends and receives of its group"),
        ("op_id", "BIGINT", "number of the operation in its group, sends and receives included"),
        ("backend", "VARCHAR", "communication library: nccl, gloo, …"),
        ("operation", "VARCHAR", "operation as recorded: all_reduce, _allgather_base, send, coalesced"),
        ("group_rank", "INTEGER", "of a send or receive: the writer's rank inside the group"),
        ("peer_group_rank", "INTEGER", "of a send or receive: the other side's rank inside the group"),
        ("is_p2p", "BOOLEAN", "a send or receive"),
        ("input_sizes", "VARCHAR", "shapes sent, JSON"),
        ("output_sizes", "VARCHAR", "shapes received, JSON"),
        ("input_dtypes", "VARCHAR", "types sent, JSON"),
        ("output_dtypes", "VARCHAR", "types received, JSON"),
        ("numel_in", "BIGINT", "elements sent"),
        ("numel_out", "BIGINT", "elements received"),
        ("state", "VARCHAR", "scheduled, started or completed; gloo leaves it at scheduled"),
        ("is_retired", "BOOLEAN", "taken off the list of pending work"),
        ("created_ns", "BIGINT", "when it was enqueued, UTC"),
        ("started_ns", "BIGINT", "when the watchdog saw it started, UTC (it looks every 100 ms)"),
        ("completed_ns", "BIGINT", "when the watchdog saw it completed, UTC (it looks every 100 ms)"),
        ("duration_ms", "DOUBLE", "time on the device, milliseconds, where timing was on"),
        ("timeout_ms", "BIGINT", "time-out of the collective, milliseconds"),
        ("user_location", "VARCHAR", "file:line of the user's code"),
        ("stack", "VARCHAR", "innermost frames, function (file:line), joined by <"),
    ),
)
