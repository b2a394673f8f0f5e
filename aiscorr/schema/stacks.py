"""The stored tables of stack dumps and call traces; they are listed in tables.py."""

from __future__ import annotations

from aiscorr.schema.table import Table, columns

_PLACE = (
    ("file_id", "INTEGER", "the file, as in source_file"),
    ("line_no", "BIGINT", "line number from 1, in the decompressed original"),
    ("byte_offset", "BIGINT", "bytes before the line in the decompressed original"),
)

STACK_FRAME = Table(
    "stack_frame",
    "a frame of a thread in a stack dump (py-spy, faulthandler, torch.distributed.debug), innermost first",
    columns(
        *_PLACE,
        ("dump_no", "INTEGER", "process block inside the file, from 0"),
        ("pid", "BIGINT", "process id"),
        ("parent_pid", "BIGINT", "process id of its parent where the dump names it, else null"),
        ("command", "VARCHAR", "command line of the process where the dump has it, at most 512 characters"),
        ("rank", "INTEGER", "global rank from the dump's own heading, else from the file name, else null"),
        ("host", "VARCHAR", "host of the dump's heading or of the label before its lines, else null"),
        ("task_no", "INTEGER", "task that `srun -l` puts before the lines, else null"),
        ("taken_ns", "BIGINT", "moment in the file's or folder's name, as written, else null"),
        ("attempt_no", "INTEGER", "job attempt inside the log the stack stands in, from 0; null in a file of stacks"),
        ("local_ns", "BIGINT", "time stamp of that log at the stack or nearest before it; null in a file of stacks"),
        ("zone_offset_s", "INTEGER", "seconds east of UTC where that stamp prints its zone, else null"),
        ("thread_name", "VARCHAR", "thread name"),
        ("is_main", "BOOLEAN", "the process's main thread"),
        ("is_active", "BOOLEAN", "the thread was running"),
        ("owns_gil", "BOOLEAN", "the thread held the interpreter lock"),
        ("frame_no", "INTEGER", "0 = innermost"),
        ("function", "VARCHAR", "function as printed"),
        ("source_file", "VARCHAR", "file of the frame as printed"),
        ("source_line", "INTEGER", "line of the frame"),
        ("locals", "VARCHAR", "arguments and variables that may name what it worked on, JSON, else null"),
        ("text", "VARCHAR", "the line as written"),
    ),
)

TRACE_CALL = Table(
    "trace_call",
    "a line of source that a process ran, in a file of Python's trace module (also NicerTrace)",
    columns(
        *_PLACE,
        ("rank", "INTEGER", "global rank from the file name, else null"),
        ("local_rank", "INTEGER", "local rank from the file name (trace-<host>-<local rank>-<pid>.txt), else null"),
        ("host", "VARCHAR", "host from the file name, else null"),
        ("pid", "BIGINT", "process id from the line or the file name, else null"),
        ("function", "VARCHAR", "module and function entered; null for a line of code"),
        ("source_file", "VARCHAR", "file as printed; null for a function entered"),
        ("source_line", "INTEGER", "line in that file"),
        ("call_count", "BIGINT", "how often it stands in the file"),
        ("first_line_no", "BIGINT", "where it stands first"),
        ("is_last", "BOOLEAN", "it is the last of its process in the file"),
        ("clock", "VARCHAR", "time since the trace began at its last line, as printed, else null"),
        ("text", "VARCHAR", "the line as written when it stood last"),
    ),
)
