"""Reads a Flight Recorder dump as one source: bytes in; rows of the dump, its groups and its collectives out.

A dump that cannot be used gives a reject and a problem of the file, never an exception.
"""

from __future__ import annotations

import re

from aiscorr.checksum import ContentSum
from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.flight.pickled import MAX_BYTES, DumpError, collector_paused, load_dump
from aiscorr.parse.flight.recorder import MAX_ENTRIES, FlightDump, parse_dump
from aiscorr.parse.flight.values import ranks_as_json
from aiscorr.parse.path_hints import DUMP_NAME, file_name
from aiscorr.parse.whole import add_reject, read_all

_LAST_NUMBER = re.compile(r"(\d{1,6})(?:\.(?:json|pkl|pickle|bin|fr|dump))?$", re.IGNORECASE)
_JOB = re.compile(r"(?:^|[_.-])(?:job|slurm|jobid)[_-]?(\d{3,10})(?=[_.-]|$)", re.IGNORECASE)
_KNOWN_WORDS = re.compile(
    r"(?:(?:nccl|comm_lib|hccl|xccl|rccl|mccl|gloo|fr|flight_recorder)_)?trace|(?:global_?)?rank[_-]?\d+|"
    r"(?:job|slurm|jobid)[_-]?\d+|attempt[_-]?\d+|\.(?:json|pkl|pickle|bin|gz|zst|fr|dump)\b",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?<![\w-])([A-Za-z][A-Za-z0-9-]*\d[A-Za-z0-9-]*(?:\.[A-Za-z][\w-]*)*)(?![\w-])")


def read_flight_dump(summary: FileSummary, stream: ByteStream, sink: PartSink) -> None:
    """Reads a dump; what is wrong with it becomes the file's problem, and nothing in it is executed."""
    content = ContentSum()
    data, is_cut = read_all(stream, content, limit=MAX_BYTES + 1)
    _note_name(summary)
    # Two ranks that wait alike may leave the same bytes; they are no copies of each other.
    summary.content_hash = f"{content.identity()}:rank{summary.path_rank}"
    summary.head_hash, summary.byte_count = content.head_hash(), content.byte_count
    try:
        if is_cut:
            raise DumpError(f"is larger than {MAX_BYTES >> 20} MiB")
        with collector_paused():
            dump = parse_dump(load_dump(data))
    except DumpError as error:
        _reject(summary, sink, f"Flight Recorder dump that {error}", data)
        return
    _add_rows(summary, sink, dump, is_json=data[:1] != b"\x80")
    if dump.bad_count:
        _reject(summary, sink, f"{dump.bad_count} entries of the Flight Recorder dump are no records", b"")
    if dump.is_cut:
        summary.problem = f"{dump.entry_count} entries: only the first {MAX_ENTRIES} were read"


def _note_name(summary: FileSummary) -> None:
    """Rank, job and host as the file name tells them: `job71_node4_nccl_trace_rank_5` is rank 5 on node4 of job 71."""
    name = file_name(summary.ref.path)
    if summary.path_rank is None:
        found = DUMP_NAME.search(name) or _LAST_NUMBER.search(name)
        summary.path_rank = int(found.group(1)) if found else None
    job = _JOB.search(name)
    if job is not None and summary.job_id is None:
        summary.job_id = job.group(1)
    rest = _KNOWN_WORDS.sub(" ", name).replace("_", " ")
    hosts = [word for word in _HOST.findall(rest) if not word.isdigit()]
    summary.host = summary.host or (hosts[0] if hosts else None)


def _add_rows(summary: FileSummary, sink: PartSink, dump: FlightDump, *, is_json: bool) -> None:
    times = dump.times()
    rank = summary.path_rank if dump.own_rank is None else dump.own_rank
    summary.event_count += len(dump.collectives["entry_no"])
    summary.first_ns, summary.last_ns = (min(times), max(times)) if times else (None, None)
    summary.is_utc = True
    summary.version = summary.version or dump.comm_lib_version
    sink.add(
        "flight_dump",
        {
            "file_id": summary.file_id,
            "rank": rank,
            "rank_source": None if rank is None else "name" if dump.own_rank is None else "groups",
            "name_rank": summary.path_rank,
            "host": summary.host,
            "format_version": dump.version,
            "is_json": is_json,
            "backend": dump.backend,
            "comm_lib_version": dump.comm_lib_version,
            "entry_count": dump.entry_count,
            "has_stacks": dump.has_stacks,
            "first_ns": summary.first_ns,
            "last_ns": summary.last_ns,
            "modified_ns": summary.ref.modified_ns or None,
        },
    )
    _add_groups(summary, sink, dump)
    count = len(dump.collectives["entry_no"])
    sink.add_columns("flight_collective", {**dump.collectives, "file_id": [summary.file_id] * count}, count)


def _add_groups(summary: FileSummary, sink: PartSink, dump: FlightDump) -> None:
    for group in dump.groups:
        sink.add(
            "flight_group",
            {
                "file_id": summary.file_id,
                "pg_id": group.pg_id,
                "guid": group.guid,
                "description": group.description,
                "ranks": ranks_as_json(group.ranks),
                "last_enqueued": group.last_enqueued,
                "last_started": group.last_started,
                "last_completed": group.last_completed,
            },
        )


def _reject(summary: FileSummary, sink: PartSink, reason: str, data: bytes) -> None:
    summary.problem, summary.is_unusable = reason, True
    add_reject(summary, sink, reason, data[:128].decode("utf-8", "backslashreplace"), byte_offset=None)
