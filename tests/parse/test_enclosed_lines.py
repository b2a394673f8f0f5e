"""A traceback that a logger wrote as one field of its record."""

from __future__ import annotations

import json

import pytest
from lines import TRACEBACK, events, read_worker, told

pytestmark = pytest.mark.usefixtures("either_reader")

WATCHDOG = "[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.\n"


@pytest.mark.parametrize("form", ["json", "repr"])
def test_a_traceback_within_a_record(form: str) -> None:
    """A logger's field holds lines of its own: frames, a chain, and a message that goes on; the row is of that line."""
    body = TRACEBACK.replace("raise\n", 'raise Error("a\\n{}")\n')
    chain = (
        f"{body}ConnectionError: http://10.0.0.1:8080/v1/objects/bt/x\n\n"
        f"The above exception was the direct cause of the following exception:\n\n"
        f'{TRACEBACK}RuntimeError: it\'s over\nsee "store"'
    )
    fields = {"ts": "2026-11-20T10:00:30.123Z", "level": "error", "rank": 5, "exc_info": chain, "step": 7}
    record = json.dumps(fields) if form == "json" else f"[rank5]: E {fields}"
    found = read_worker(f"[rank5]: started\n{record}\n" + WATCHDOG)
    assert told(found, "exception", "is_chained", "is_uncaught", "rank", "line_no", "frame_kind")[:2] == [
        ("ConnectionError", True, None, 5, 2, "storage"),
        ("RuntimeError", False, None, 5, 2, "storage"),
    ]
    assert [row["user_location"] for row in events(found)[:2]] == ["/w/train.py:9"] * 2
    assert all(str(row["text"]) in record for row in events(found)[:2])
    assert len(events(found)) == 3


def test_a_traceback_within_a_record_that_is_cut() -> None:
    """A record that ends amid the frames, or holds nothing but the header, is what it would be without them."""
    record = json.dumps({"rank": 5, "exc_info": TRACEBACK + "ValueError: x"})
    for cut in (
        record[: record.index("step(batch)")],
        '{"rank": 5, "exc_info": "Traceback (most recent call last):\\\\n"}',
    ):
        assert told(read_worker(f"{cut}\n" + WATCHDOG), "rank", "pattern") == [(0, "nccl_communicator_aborted")]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_traceback_that_is_printed_as_a_list(quote: str) -> None:
    """What format_exception gives is a list of texts, and is read as the one text they are."""
    last = f"OSError: [Errno 5] Input/output error: {'a' if quote == chr(39) else chr(39) + 'a' + chr(39)}"
    pieces = [f"{line}\n" for line in (*TRACEBACK.splitlines(), last)]
    found = read_worker(f"[rank5]: E gave up: {pieces}\n")
    assert told(found, "pattern", "exception", "rank", "frame_kind") == [("fs_io_error", "OSError", 5, "storage")]
    assert [row["text"] for row in events(found)] == [last]
