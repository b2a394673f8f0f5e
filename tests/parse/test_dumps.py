"""Small structured sources beside the logs: error files of torch elastic and stack dumps of py-spy."""

from __future__ import annotations

import json

from lines import events, read_text
from timed_lines import text_of


def test_an_error_file_of_torch_elastic() -> None:
    """error.json gives message, exception and a moment that needs no zone, with the rank of its folder."""
    body = {"message": {"message": "RuntimeError: boom", "extraInfo": {"py_callstack": "x", "timestamp": "1795215955"}}}
    found = read_text(json.dumps(body), "/logs/none_ab12cd34/attempt_0/3/error.json")
    (row,) = events(found)
    assert (row["exception"], row["local_rank"], text_of(row["local_ns"])) == ("RuntimeError", 3, "2026-11-20 23:05:55")
    broken = read_text('{"extraInfo": 1, "py_callstack": 2}', "/logs/error.json")
    assert [row["reason"].split(":")[0] for row in broken.rejected_line] == [
        "error.json of torch elastic in an unknown form"
    ]
    assert broken.summary.reject_count == 1


def test_a_stack_dump() -> None:
    """A dump of py-spy gives frames, innermost first, with thread, process and rank."""
    text = (
        'Process 77: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\nThread 77 (active+gil): "MainThread"\n'
        '    recv (socket.py:706)\n    fetch (train.py:59)\nThread 78 (idle): "pin"\n    wait (threading.py:320)\n'
    )
    found = read_text(text, "/logs/job/rank5.pyspy.txt")
    assert found.summary.kind == "stack_dump"
    names = ("rank", "pid", "thread_name", "is_active", "owns_gil", "frame_no", "function", "source_line", "line_no")
    assert [tuple(row[name] for name in names) for row in found.stack_frame] == [
        (5, 77, "MainThread", True, True, 0, "recv", 706, 5),
        (5, 77, "MainThread", True, True, 1, "fetch", 59, 6),
        (5, 77, "pin", False, False, 0, "wait", 320, 8),
    ]
