"""Lines that a collector wrote as records of its own, one in each."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from lines import AIS_HEADER, events, read_text

from aiscorr.parse.packed import packing_of


@pytest.mark.parametrize(
    "record",
    [
        lambda line: {"log": line, "stream": "stderr", "time": "2026-11-20T23:04:02.123456789Z"},
        lambda line: {
            "__REALTIME_TIMESTAMP": "1795215842123456", "_HOSTNAME": "gpu-store-1", "SYSLOG_IDENTIFIER": "ais@target",
            "_PID": "4711", "MESSAGE": line.rstrip("\n"),
        },
        lambda line: {"_HOSTNAME": "a", "MESSAGE": list(line.encode()), "__REALTIME_TIMESTAMP": "1795215842123456"},
        lambda line: {"textPayload": line, "timestamp": "2026-11-20T23:04:02.123456789Z", "severity": "INFO"},
    ],
    ids=["docker", "journald", "journald as bytes", "cloud logging"],
)  # fmt: skip
def test_lines_that_a_collector_packed(record: Callable[[str], dict[str, object]]) -> None:
    """A collector packs each line; what its record holds is read, and stands where the collector wrote it."""
    text = AIS_HEADER + 'W 23:04:00.000001 moss:320 t[a] says "no"\nI 23:04:01.000001 {get.n:7}\n'
    packed = "".join(json.dumps(record(line)) + "\n" for line in text.splitlines(keepends=True))
    found, plain = read_text(packed), read_text(text)
    assert [(row["line_no"], row["pattern"]) for row in events(found)] == [
        (row["line_no"], row["pattern"]) for row in events(plain)
    ]
    assert [row["line_no"] for row in found.counter_sample] == [row["line_no"] for row in plain.counter_sample]
    if isinstance(record("x").get("MESSAGE"), list):
        return
    lines_of = packed.splitlines()
    assert all(row["text"] in lines_of[row["line_no"] - 1] for row in events(found))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            '1795215842123,"says ""no"", twice",job/algo-1',
            '2026-11-20T23:04:02.123000Z algo-1 stream[0]: says "no", twice',
        ),
        (
            '{"jsonPayload": {"msg": "step", "rank": 2, "n": 10, "host": "a"}, "timestamp": "2026-11-20T23:04:02Z"}',
            "2026-11-20T23:04:02Z stderr F [rank 2] step n=10",
        ),
        ("plain", "plain"),
        ('{"log": "cut', '{"log": "cut'),
        ('{"log": "x"}', '{"log": "x"}'),
        ('{"jsonPayload": "x", "timestamp": "a"}', '{"jsonPayload": "x", "timestamp": "a"}'),
        ("1795215842123,", "1795215842123,"),
    ],
)
def test_a_packed_line(line: str, text: str) -> None:
    """A record becomes the line of a program behind its time, its rank if it tells one; what is none stays as it is."""
    packing = packing_of([line.encode()])
    assert (line if packing is None else packing.line(line.encode()).decode()) == text
