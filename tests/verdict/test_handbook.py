"""Troubles that handbooks name get their class and culprit, and a storage that was only noisy is never blamed.

The jobs of handbook.toml run beside the cluster of a fixture in which a target was restarted while they trained.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from scenes import FIXTURES, Library
from truths import failures_of

from aiscorr.model import IngestOptions

CASES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "handbook.toml").read_text("utf-8"))["case"]
FIRST_JOB = 9100001
#: Troubles of a kind of which another stands beside them; they are looked at where slow tests are asked for.
LATER = frozenset(
    (
        "RANK is missing",
        "two processes on one GPU",
        "a batch on the wrong device",
        "Ray ends a worker for host memory",
        "NCCL does not come up on any rank (internal error)",
        "a rank uses a group it is not in",
        "a checkpoint of another number of ranks",
    )
)
USUAL = tuple(case["name"] for case in CASES if case["name"] not in LATER)


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


@lru_cache(maxsize=2)
def made(library: Library, label: str, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """The failures of the jobs that have these troubles, by the trouble."""
    numbered = {FIRST_JOB + n: case for n, case in enumerate(CASES) if case["name"] in names}

    def paths() -> list[Path]:
        folder = library.base / label
        for number, case in numbered.items():
            for node in (0, 1):
                path = folder / f"job-{number}" / f"error-{number}-{node}.out"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(node_log(case, number, node), "utf-8")
        return [folder, FIXTURES / "noisy_storage_then_deadlock" / "ais"]

    failures = failures_of(library.made(label, paths, IngestOptions(year=2026)))
    assert len(failures) == len({failure["job_id"] for failure in failures})
    return {str(numbered[int(failure["job_id"])]["name"]): failure for failure in failures}


def check(name: str, failures: dict[str, dict[str, Any]]) -> None:
    """What is said of a trouble is what its case asks for."""
    (case,) = (case for case in CASES if case["name"] == name)
    failure = failures[name]
    found = (failure["failure_class"], failure["storage_verdict"], failure["culprit_ranks"])
    assert found == (case["class"], case.get("verdict", "innocent"), case.get("culprits", [])), failure["statement"]


@pytest.mark.parametrize("name", USUAL)
def test_trouble(name: str, library: Library) -> None:
    """The trouble is named by its class, its rank where one can be told, and storage is not guilty of it."""
    check(name, made(library, "handbook", USUAL))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LATER))
def test_more_trouble(name: str, library: Library) -> None:
    """So are others of the same kinds."""
    check(name, made(library, "more-of-the-handbook", LATER))
