"""Clients that met trouble with the store and got over it, then something that has nothing to do with it."""

from __future__ import annotations

import signal

from benchmarks.accuracy.record.payloads import blocks, corpus, features, speech, tar_shards
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Start, Truth


def _kill_loader_of_2(job: Running) -> None:
    job.signal_loader(2, signal.SIGKILL)


def _interrupt_1(job: Running) -> None:
    job.signal_rank(1, signal.SIGINT)


def _stacks(job: Running) -> None:
    job.take_stacks()


def _end_all(job: Running) -> None:
    for node in range(2):
        job.signal_node(node, signal.SIGTERM)


SCENARIOS = (
    Scenario(
        "reader_resumed_then_keys_differ",
        "Readers of all ranks go on after cuts; later rank 0 loads weights whose keys are not those of its model.",
        "finetune_sdk.py",
        Truth("software", (0,), (), "innocent"),
        ("--teacher-at", "8"),
        needs=("aistore",),
        objects=speech,
        faults=(Fault(r"^/v1/.*/clips/[0-3]/clip-0000[147]", "cut", 2),),
    ),
    Scenario(
        "shards_left_out_then_label_out_of_range",
        "Broken shards are warned of and left out on all ranks; later a shard of rank 1 has labels beyond the classes.",
        "train_wds.py",
        Truth("data", (1,), ("software",), "innocent"),
        ("--go-on",),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("webdataset",),
        objects=tar_shards(odd=(13,)),
        faults=(Fault(r"^/v1/.*/shard-00000[4-7]", "cut", 1),),
    ),
    Scenario(
        "slow_reads_then_killed_loader",
        "Some reads of all ranks take seconds; later a loader process of rank 2 is killed as by the memory killer.",
        "train_loader.py",
        Truth("infrastructure", (2,), ("software",), "innocent"),
        ("--workers", "2"),
        layout=Layout.TEE,
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-0[0-3]-0000[26]", "late", 1, delay_s=2.5),),
        acts=(Act(r"2/4,INFO,epoch 1 step 4", _kill_loader_of_2),),
    ),
    Scenario(
        "resets_logged_then_interrupted",
        "Resets are logged and got over on all ranks; later somebody interrupts rank 1.",
        "srun_train.py",
        Truth("infrastructure", (1,), ("software",), "innocent"),
        ("--reads", "8"),
        layout=Layout.TASKS,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        launcher=("--kill-on-bad-exit",),
        objects=corpus,
        faults=(Fault(r"^/v1/.*/shard-[0-3]-00[1-5]", "reset", 1),),
        acts=(Act(r"p1 INFO step 14/", _interrupt_1),),
        group_timeout_s=15,
    ),
    Scenario(
        "refusals_got_over_then_callback_waits",
        "503 is warned of and got over in loader processes; later a callback of rank 3 waits for a file for ever.",
        "lightning_remote.py",
        Truth("rank_hang", (3,), ("software",), "innocent"),
        ("--export", "3:9"),
        nodes=2,
        ranks_per_node=2,
        needs=("lightning",),
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-0[0-3]-0000[25]", "status", 1, message="node is rebalancing"),),
        acts=(Act(r"waiting for dashboard", _stacks, 8.0),),
        group_timeout_s=18,
    ),
    Scenario(
        "retries_then_assertion_in_first_rank",
        "Refused reads of all ranks are logged and tried again with success; later an assertion fails in rank 0 alone.",
        "pretrain_blocks.py",
        Truth("software", (0,), (), "innocent"),
        ("--client", "tenacity", "--summary-every", "8"),
        layout=Layout.STREAM,
        needs=("tenacity",),
        objects=blocks(),
        faults=(Fault(r"^/v1/.*/rank[0-3]/block-0000[1357]", "status", 1, message="too many requests", status=429),),
    ),
    Scenario(
        "resets_logged_then_all_are_ended",
        "Resets are logged and got over; later the batch system sends SIGTERM to every task.",
        "srun_train.py",
        Truth("infrastructure", (), (), "innocent"),
        ("--reads", "10", "--answer-signals"),
        layout=Layout.SRUN,
        start=Start.TASKS,
        nodes=2,
        ranks_per_node=2,
        objects=corpus,
        faults=(Fault(r"^/v1/.*/shard-[0-3]-00[2468]", "close", 1),),
        acts=(Act(r"p0 INFO step 15/", _end_all),),
        group_timeout_s=15,
    ),
    Scenario(
        "slow_reads_then_bad_worker_setup",
        "Some reads take seconds; on another host no loader process can be bound to its processor.",
        "train_loader.py",
        Truth("software", (1,), ("infrastructure",), "innocent"),
        ("--pin", "--workers", "2"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=1,
        node_environment={1: {"LOADER_CORES": "200,201"}},
        objects=features(),
        faults=(Fault(r"^/v1/.*/part-00-0000[01]", "late", 1, delay_s=2.5),),
    ),
    Scenario(
        "healthy_with_alarming_lines",
        "Shards break and are left out, and the job goes on to its end.",
        "train_wds.py",
        None,
        ("--go-on", "--steps", "24"),
        layout=Layout.TEE,
        needs=("webdataset",),
        objects=tar_shards(),
        faults=(Fault(r"^/v1/.*/shard-00000[0-7]", "cut", 1),),
    ),
)
