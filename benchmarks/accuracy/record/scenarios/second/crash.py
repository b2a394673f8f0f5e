"""Ranks and loader processes that raise, are killed or run out of something, without storage in sight."""

from __future__ import annotations

import resource
import signal

from benchmarks.accuracy.record.payloads import features
from benchmarks.accuracy.record.scenario import Act, Layout, Running, Scenario, Start, Truth

_POSITION = '{"position": 51200}\n'


def _kill_process_1(job: Running) -> None:
    job.signal_rank(1, signal.SIGKILL)


def _end_node_1(job: Running) -> None:
    job.signal_launcher(1, signal.SIGTERM)


def _cut_shard_1(job: Running) -> None:
    job.cut_file("checkpoints/step-4/__1_0.distcp")


SCENARIOS = (
    Scenario(
        "object_gather_cannot_pickle",
        "The meter of rank 2 holds a lambda: it cannot be pickled for the others, who wait for it.",
        "contrastive.py",
        Truth("software", (2,), ("collective_mismatch",)),
        ("--digits", "2:5", "--samples", "192"),
        layout=Layout.FILES,
        ranks_per_node=3,
    ),
    Scenario(
        "both_attempts_fail_alike",
        "A setting of the second node is out of range: the rank fails, is started again and fails again.",
        "recorded_train.py",
        Truth("software", (1,), ("infrastructure",)),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=1,
        node_environment={1: {"WARMUP_FACTOR": "10"}},
        environment={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        launcher=("--max-restarts=1", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=2209"),
    ),
    Scenario(
        "two_ranks_meet_odd_labels",
        "Ranks 1 and 3 meet a label outside the classes in the same step; their error files go to the launcher.",
        "recorded_train.py",
        Truth("data", (1, 3), ("software",)),
        ("--odd", "1:9,3:9"),
        layout=Layout.FILES,
    ),
    Scenario(
        "checkpoint_of_smaller_world",
        "A checkpoint of four ranks is resumed by six: two of them find no state of theirs.",
        "recorded_train.py",
        Truth("software", (4, 5), ("data", "infrastructure")),
        ("--resume", "runs/large-03/step-3200"),
        layout=Layout.SRUN_TEE,
        nodes=3,
        ranks_per_node=2,
        files={f"runs/large-03/step-3200/sampler_rank{rank}.json": _POSITION for rank in range(4)},
    ),
    Scenario(
        "spawned_process_raises",
        "Tokens of a batch of process 2 lie outside the vocabulary; torch.multiprocessing shows its traceback.",
        "spawn_train.py",
        Truth("data", (2,), ("software",)),
        ("--added-rank", "2", "--added-step", "11"),
        layout=Layout.STREAM,
        start=Start.SPAWN,
    ),
    Scenario(
        "spawned_process_killed",
        "Process 1 of torch.multiprocessing is killed from outside.",
        "spawn_train.py",
        Truth("infrastructure", (1,), ("software",)),
        ("--ranks", "3"),
        layout=Layout.SRUN,
        start=Start.SPAWN,
        ranks_per_node=3,
        acts=(Act(r"Process 1: step 9 ", _kill_process_1),),
    ),
    Scenario(
        "trainer_meets_odd_labels",
        "A sample that one rank of transformers' Trainer draws has two labels: its batch cannot be made a tensor.",
        "hf_trainer.py",
        Truth("data", (1,), ("software",)),
        ("--odd", "33"),
        layout=Layout.TEE,
        ranks_per_node=2,
        needs=("transformers", "accelerate", "tokenizers"),
    ),
    Scenario(
        "kept_samples_fill_memory",
        "Persistent loader processes of one host keep what they read until nothing can be allocated any more.",
        "train_loader.py",
        Truth("infrastructure", (1,), ("software",)),
        ("--keep-mib", "250"),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=1,
        node_limits={1: {resource.RLIMIT_AS: 5 << 30}},
        objects=features(),
    ),
    Scenario(
        "shared_memory_is_full",
        "/dev/shm of the second node is small: a loader process of rank 1 cannot hand its batch over.",
        "train_loader.py",
        Truth("infrastructure", (1,), ("software", "data_loading_stall")),
        ("--crop-mib", "12", "--workers", "2"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=1,
        shared_memory_mib={1: 32},
        objects=features(),
        acts=(Act(r"exitcode  : 1", _end_node_1, 2.0),),
        group_timeout_s=15,
    ),
    Scenario(
        "asks_without_terminal",
        "Rank 0 asks whether a folder may be overwritten, and there is no terminal to answer at.",
        "helpers_train.py",
        Truth("software", (0,), ()),
        ("--overwrite", "0:6:exports"),
        layout=Layout.LABELS,
        start=Start.TASKS,
        ranks_per_node=2,
        launcher=("--kill-on-bad-exit",),
    ),
    Scenario(
        "part_of_checkpoint_is_cut",
        "A file of a distributed checkpoint is cut short before the job goes back to it.",
        "rollback.py",
        Truth("data", (1,), ("software", "infrastructure", "storage_io")),
        layout=Layout.TEE,
        ranks_per_node=3,
        acts=(Act(r"checkpoint checkpoints/step-4 is complete", _cut_shard_1, 1.0),),
    ),
    Scenario(
        "healthy_without_farewell",
        "Spawned processes train to their end and do not destroy their group, of which PyTorch warns.",
        "spawn_train.py",
        None,
        ("--leave-group", "--ranks", "2"),
        layout=Layout.STREAM,
        start=Start.SPAWN,
        ranks_per_node=2,
    ),
)
