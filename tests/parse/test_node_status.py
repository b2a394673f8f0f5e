"""What a live cluster said of itself: saved answers of AIStore, and records of pull, in good and bad form."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import Command
from live_cluster import ANSWERS
from scenes import column, rows

DB = "aiscorr.duckdb"
ANSWER = json.loads((ANSWERS / "node_status-Kdut6002.json").read_text())
RECORD = [
    {"aiscorr_pull": 1, "cluster": "Wm4kzq7Ra", "node_count": 2},
    {
        "node_id": "Kdut6002",
        "sampled_at": "2026-10-05T10:05:00Z",
        "gaps": [],
        "snode": ANSWER["snode"],
        "status": ANSWER,
    },
    {
        "node_id": "Rvst6003",
        "sampled_at": "2026-10-05T10:05:20Z",
        "gaps": [{"part": "all", "reason": "502 Bearer abcdefghijkl"}],
        "snode": {"daemon_id": "Rvst6003", "daemon_type": "target"},
        "status": None,
    },
]


def test_saved_answers(run: Command) -> None:
    """Answers saved by hand, of one node or of the cluster, are samples at the time of their file."""
    Path("one.json").write_text(json.dumps(ANSWER, indent=2))
    primary = ANSWER | {"snode": {"daemon_id": "Hbjp6001", "daemon_type": "proxy"}}
    Path("all.json").write_text(json.dumps({"proxy": primary, "target": {"Kdut6002": ANSWER, "gone": None}}))
    os.utime("one.json", (1791194700, 1791194700))
    os.utime("all.json", (1791194760, 1791194760))
    assert run("ingest", "one.json", "all.json").code == 0
    sql = (
        "select node_id, node_role, cluster, sampled_at::varchar, version from node_status order by sampled_at, node_id"
    )
    assert rows(DB, sql) == [
        ("Kdut6002", "target", "Wm4kzq7Ra", "2026-10-05 10:05:00", "4.6.0f3c9a1d2"),
        ("Hbjp6001", "proxy", "Wm4kzq7Ra", "2026-10-05 10:06:00", "4.6.0f3c9a1d2"),
        ("Kdut6002", "target", "Wm4kzq7Ra", "2026-10-05 10:06:00", "4.6.0f3c9a1d2"),
    ]
    assert set(rows(DB, "select kind, state from source_file")) == {("node_status", "ingested")}
    assert column(DB, "select method from clock") == ["mtime", "mtime"]


def test_record(run: Command) -> None:
    """A record of pull gives samples at the moment the node was asked, and gaps; secrets in a reason are taken out."""
    Path("pull.jsonl").write_text("".join(json.dumps(line) + "\n" for line in RECORD))
    assert run("ingest", "pull.jsonl").code == 0
    assert rows(DB, "select node_id, sampled_at::varchar, is_answered, line_no from node_status order by line_no") == [
        ("Kdut6002", "2026-10-05 10:05:00", True, 2),
        ("Rvst6003", "2026-10-05 10:05:20", False, 3),
    ]
    assert rows(DB, "select cluster, node_id, part, reason, line_no from pull_gap") == [
        ("Wm4kzq7Ra", "Rvst6003", "all", "502 Bearer <redacted>", 3)
    ]
    assert column(DB, "select count(*) from counter_reading") == [0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps(RECORD[0]) + '\n{"node_id": "x"}\n' + json.dumps(RECORD[1]) + "\n", "'sampled_at'"),
        (json.dumps(RECORD[0]) + "\n" + json.dumps(RECORD[1]) + '\n{"node_id": "Rvst', "Unterminated string"),
        (
            json.dumps(ANSWER | {"tracker": {"get.n": 3, "get.size": "x", "err.n": 1 << 70}}),
            "a counter that is no integer",
        ),
        (json.dumps([ANSWER]), "an answer of AIStore in an unknown form"),
        (json.dumps({"snode": {"daemon_id": ""}, "tracker": {}}), "an answer of AIStore in an unknown form"),
        ('{"snode": {"daemon_id": "x"}, "tracker": ', "an answer of AIStore in an unknown form"),
    ],
    ids=["line without time", "cut line", "odd counters", "list", "no id", "cut answer"],
)
def test_bad_answers(text: str, reason: str, run: Command) -> None:
    """What cannot be understood is a reject that says why, and the rest counts."""
    Path("x.json").write_text(text)
    assert run("ingest", "x.json").code == 0
    (found,) = column(DB, "select reason from reject")
    assert reason in found
    count = 1 if RECORD[1]["node_id"] in text and not text.startswith("[") else 0
    assert column(DB, "select count(*) from node_status") == [count]
