"""Own code that raises, on one rank or on all of them."""

from __future__ import annotations

from benchmarks.accuracy.record.scenario import Layout, Scenario, Truth
from benchmarks.accuracy.record.scenarios.fourth.stuck import pages

SCENARIOS = (
    Scenario(
        "changed_in_place_on_all_ranks",
        "A residual block adds in place what the backward pass needs: every rank raises in its first step.",
        "fashion.py",
        Truth("software", None),
        ("--inplace",),
        layout=Layout.TEE,
        ranks_per_node=3,
    ),
    Scenario(
        "schedule_is_over_on_all_ranks",
        "The schedule is shorter than the training: a root of a negative number on every rank, logged as JSON.",
        "translate.py",
        Truth("software", None),
        ("--total-steps", "24"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
        environment={"CORPUS_ROOT": "/mnt/corpora/wmt24"},
    ),
    Scenario(
        "error_is_logged_and_main_returns",
        "A page of rank 1 lacks its language: main logs the KeyError in a line and ends with status 0.",
        "titles.py",
        Truth("data", (1,), ("software",)),
        ("--catch",),
        layout=Layout.FILES,
        files=pages({(1, 62): {"title": "On lakes"}}),
        group_timeout_s=22,
    ),
    Scenario(
        "cuda_is_not_usable_on_one_node",
        "The second node is to train on CUDA, which its PyTorch cannot: both its ranks raise.",
        "fashion.py",
        Truth("software", (2, 3), ("infrastructure", "gpu")),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        node_environment={1: {"TRAIN_DEVICE": "cuda"}},
        group_timeout_s=22,
    ),
)
