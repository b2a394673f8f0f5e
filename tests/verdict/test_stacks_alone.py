"""A job that hangs and has not ended is known from its stacks alone, with its suspect and the doubt that they leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenes import read_in
from truths import failures_of

TORCH = "/opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py"
STOOD = {
    "all_reduce": f"    all_reduce ({TORCH}:3252)\n    main (train.py:130)\n",
    "barrier": f"    barrier ({TORCH}:5356)\n    main (train.py:137)\n",
    "read": "    _recv_into (urllib3/response.py:101)\n    read (aistore/sdk/obj/object_reader.py:80)\n"
    "    __getitem__ (dataset.py:12)\n    main (train.py:101)\n",
    "own": "    forward (model.py:31)\n    main (train.py:120)\n",
}


def hang(folder: Path, *calls: str) -> list[dict[str, Any]]:
    """The failures of a job whose ranks stand in these calls, one stack a rank."""
    folder.mkdir()
    for rank, call in enumerate(calls):
        state = "active" if call == "own" else "idle"
        (folder / f"rank{rank}.txt").write_text(
            f"Process {4000 + rank}: python3 -u train.py\nPython v3.12.3 (/usr/bin/python3.12)\n\n"
            f'Thread {4000 + rank} ({state}): "MainThread"\n{STOOD[call]}    <module> (train.py:146)\n'
        )
    read_in(folder.with_suffix(".duckdb"), folder)
    return failures_of(str(folder.with_suffix(".duckdb")))


def test_one_rank_reads_while_the_others_wait(tmp_path: Path) -> None:
    """The rank that stands in a read is named; that storage is to blame is not."""
    (failure,) = hang(tmp_path / "job7", "all_reduce", "all_reduce", "read", "all_reduce")
    assert failure["culprit_ranks"] == [2]
    assert failure["failure_class"] == "data_loading_stall"
    assert failure["storage_verdict"] == "undetermined"
    assert failure["ended_at"] is None
    assert failure["confidence"] <= 0.7


def test_one_rank_waits_in_another_collective(tmp_path: Path) -> None:
    """Of ranks that all wait, the one in another collective than all others is named, with doubt."""
    (failure,) = hang(tmp_path / "job7", "all_reduce", "barrier", "all_reduce")
    assert (failure["culprit_ranks"], failure["failure_class"]) == ([1], "collective_mismatch")
    assert failure["confidence"] <= 0.7


def test_all_wait_alike(tmp_path: Path) -> None:
    """Where all stand in the same collective no rank is named, and nothing is said of storage."""
    (failure,) = hang(tmp_path / "job7", "all_reduce", "all_reduce", "all_reduce")
    assert (failure["culprit_ranks"], failure["storage_verdict"]) == ([], "undetermined")
    assert "had not ended" in failure["statement"]
    assert failure["ended_at"] is None


@pytest.mark.parametrize("calls", [("all_reduce",), ("own", "own", "read"), ("all_reduce", "own", "own", "read")])
def test_no_failure(calls: tuple[str, ...], tmp_path: Path) -> None:
    """One stack, or stacks of which most do not wait, show no hang."""
    assert hang(tmp_path / "job7", *calls) == []
