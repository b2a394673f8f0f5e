"""Troubles that handbooks name get their class and culprit, and a storage that was only noisy is never blamed.

The jobs of handbook.toml run beside the cluster of a fixture in which a target was restarted while they trained.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scenes import FIXTURES, read_in
from truths import failures_of

from aiscorr.model import IngestOptions

CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "handbook.toml").read_text("utf-8"))["case"]
FIRST_JOB = 9100001


def starts(rank: int) -> list[str]:
    """What a rank writes when it starts."""
    return [
        f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/8",
        f"[NeMo I 2026-03-17 20:14:37 train:1 rank:{rank}] rank {rank}/8 ready, host hgx{rank // 4:04d},"
        f" pid {60000 + rank}, dataset ais://commonvoice-tar via http://10.53.20.11:51080",
    ]


def trains() -> list[str]:
    """The steps that rank 0 reports, one a minute."""
    return [
        f"[NeMo I 2026-03-17 20:{14 + step // 60}:50 train:1 rank:0] Training epoch 0, iteration {step}/9000 |"
        f" global_step: {step} | train_step_timing in s: 0.61"
        for step in range(0, 200, 60)
    ]


def raised(rank: int, text: str, frame: list[str]) -> list[str]:
    """The traceback of an exception that ends a rank."""
    path, function = frame
    lines = ["Traceback (most recent call last):", f'  File "{path}", line 9, in {function}', "    step()"]
    return [f"[rank{rank}]: {line}" for line in [*lines, *text.format(r=rank).split("\n")]]


def times_out(rank: int, hang: Mapping[str, Any]) -> list[str]:
    """The two lines of the watchdog of a rank."""
    seq, numel = hang["seq"], hang.get("numel", 827392)
    return [
        f"[rank{rank}]:[E317 20:19:01.231169699 ProcessGroupNCCL.cpp:757] [Rank {rank}] Watchdog caught collective"
        f" operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn={numel}, NumelOut={numel},"
        " Timeout(ms)=60000) ran for 60044 milliseconds before timing out.",
        f"[rank{rank}]:[E317 20:19:01.231372852 ProcessGroupNCCL.cpp:2395] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
        f"  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {seq}, last"
        f" completed work: {seq - 1}",
    ]


def node_log(case: Mapping[str, Any], number: int, node: int) -> str:
    """What the ranks of a node wrote."""
    present = [rank for rank in range(node * 4, node * 4 + 4) if rank not in case.get("without", [])]
    lines = [f"+ python train.py --job {number} --node {node}"]  # the same bytes in two jobs would be one file
    lines += [] if case.get("bare") else [line for rank in present for line in starts(rank)]
    lines += trains() if node == 0 and "hangs" in case else []
    lines += case.get("says_first", []) if node == 0 else []
    for rank in present:
        if "raises" in case and rank in case.get("ranks", range(8)):
            lines += raised(rank, case["raises"], case.get("frame", ["/w/train.py", "main"]))
        for hang in (case[key] for key in ("hangs", "hangs_too") if key in case):
            lines += times_out(rank, hang) if rank not in hang["but"] else []
    return "\n".join([*lines, *case.get("says_1" if node else "says", [])]) + "\n"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The failure of each job."""
    folder = tmp_path_factory.mktemp("handbook")
    for number, case in enumerate(CASES, FIRST_JOB):
        for node in (0, 1):
            path = folder / f"job-{number}" / f"error-{number}-{node}.out"
            path.parent.mkdir(exist_ok=True)
            path.write_text(node_log(case, number, node), "utf-8")
    db = folder / "handbook.duckdb"
    read_in(db, folder, FIXTURES / "noisy_storage_then_deadlock" / "ais", options=IngestOptions(year=2026))
    failures = failures_of(str(db))
    assert len(failures) == len({failure["job_id"] for failure in failures})
    return {str(failure["job_id"]): failure for failure in failures}


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES, FIRST_JOB)), ids=[case["name"] for case in CASES])
def test_trouble(number: int, case: dict[str, Any], told: dict[str, dict[str, Any]]) -> None:
    """The trouble is named by its class, its rank where one can be told, and storage is not guilty of it."""
    failure = told[str(number)]
    found = (failure["failure_class"], failure["storage_verdict"], failure["culprit_ranks"])
    assert found == (case["class"], case.get("verdict", "innocent"), case.get("culprits", [])), failure["statement"]
