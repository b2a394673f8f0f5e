"""Small structured sources: stack dumps, call traces and error.json of torch elastic."""

from __future__ import annotations

import json
import re

from aiscorr.model import ByteStream, FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.stacks.call_trace import read_trace
from aiscorr.parse.stacks.reader import read_json_stacks, read_text_stacks, reject
from aiscorr.parse.stamps import SECOND_NS
from aiscorr.parse.values import last_name
from aiscorr.parse.whole import read_whole

_TRACE = "Trace of Python calls"


def read_dump(summary: FileSummary, stream: ByteStream, sink: PartSink, reason: str) -> None:
    """Reads a stack dump, a call trace or an error.json."""
    if reason == _TRACE:
        read_trace(summary, stream, sink)
        return
    text = read_whole(summary, stream).decode("utf-8", "replace")
    if summary.kind == "worker_log":
        _read_error_json(summary, text, sink)
        return
    # Two ranks, and one rank at two moments, may give the same bytes: each counts.
    summary.content_hash += ":" + "/".join(re.split(r"[/!]", summary.ref.path)[-2:])
    if reason == "JSON of py-spy":
        read_json_stacks(summary, text, sink)
    else:
        read_text_stacks(summary, text, sink)


def _read_error_json(summary: FileSummary, text: str, sink: PartSink) -> None:
    """error.json of @record (PyTorch 1.9 to 2.15): message and an epoch that needs no zone."""
    try:
        body = json.loads(text)["message"]
        extra = body["extraInfo"]
        moment = int(extra["timestamp"]) * SECOND_NS
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reject(summary, sink, f"error.json of torch elastic in an unknown form: {error}", text)
        return
    message = str(body["message"])
    summary.event_count += 1
    summary.first_ns = summary.last_ns = moment
    summary.is_utc = True
    sink.add(
        "worker_line",
        {
            "file_id": summary.file_id,
            "line_no": 1,
            "byte_offset": 0,
            "attempt_no": 0,
            "local_ns": moment,
            "stamp_source": "own",
            "zone_offset_s": 0,
            "rank": summary.path_rank,
            "local_rank": summary.path_local_rank,
            "severity": "error",
            "pattern": "torchrun_error_file",
            "text": message[:4096],
            "message_start": 0,
            "exception": last_name(message.partition(":")[0]),
        },
    )
