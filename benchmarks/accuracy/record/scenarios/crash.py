"""Ranks and data loading processes that are killed, crash, raise, run out of something or leave too early."""

from __future__ import annotations

import resource
import signal

from benchmarks.accuracy.record.payloads import features, tables
from benchmarks.accuracy.record.scenario import Act, Fault, Layout, Running, Scenario, Truth

_GONE = ("software",)


def _kill_rank_3(job: Running) -> None:
    job.signal_rank(3, signal.SIGKILL)


def _bus_error_in_loader(job: Running) -> None:
    job.signal_loader(0, signal.SIGBUS)


def _lose_node_1(job: Running) -> None:
    job.signal_node(1, signal.SIGKILL)


def _preempt(job: Running) -> None:
    job.signal_launcher(0, signal.SIGTERM)


def _kill_rank_2(job: Running) -> None:
    job.signal_rank(2, signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "rank_killed_on_second_node",
        "Rank 3 is killed as the kernel's memory killer does it; the other node sees closed connections.",
        "pretrain.py",
        Truth("infrastructure", (3,), _GONE),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"rank 0\] iteration \s+9/", _kill_rank_3),),
    ),
    Scenario(
        "loader_process_bus_error",
        "A data loading process of rank 0 ends with a bus error, as when shared memory is used up.",
        "decoding.py",
        Truth("infrastructure", (0,), ("software", "data")),
        ("--workers", "2", "--cache-mib-per-step", "8"),
        acts=(Act(r"R1 step 00[2-9]", _bus_error_in_loader),),
    ),
    Scenario(
        "loader_process_segfault",
        "The native decoder of rank 1 reads a bad address in a data loading process.",
        "decoding.py",
        Truth("software", (1,), ("infrastructure", "data")),
        ("--workers", "1", "--bad", "1:60:pointer"),
        layout=Layout.STREAM,
    ),
    Scenario(
        "rank_segfault_with_faulthandler",
        "The native decoder of rank 2 reads a bad address in the rank; faulthandler prints the stack.",
        "decoding.py",
        Truth("software", (2,), ("infrastructure", "data")),
        ("--bad", "2:60:pointer"),
        environment={"PYTHONFAULTHANDLER": "1"},
    ),
    Scenario(
        "rank_frees_bad_pointer",
        "The C library of rank 0 finds a bad pointer and aborts the process.",
        "decoding.py",
        Truth("software", (0,), ("infrastructure",)),
        ("--bad", "0:50:buffer"),
        layout=Layout.FILES,
    ),
    Scenario(
        "memory_limit_on_one_node",
        "The address space of rank 1's node is limited; its cache grows until nothing can be allocated.",
        "decoding.py",
        Truth("infrastructure", (1,), ("software",)),
        ("--cache-mib-per-step", "400"),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=1,
        node_limits={1: {resource.RLIMIT_AS: 7 << 30}},
    ),
    Scenario(
        "too_many_open_files",
        "Rank 1 leaves files open on a node with a low limit: the data loader cannot go on.",
        "decoding.py",
        Truth("software", (1,), ("infrastructure",)),
        ("--workers", "1", "--files-per-step", "12"),
        nodes=2,
        ranks_per_node=1,
        node_limits={1: {resource.RLIMIT_NOFILE: 120}},
    ),
    Scenario(
        "checkpoint_finds_no_space",
        "Rank 0 writes a checkpoint to a device that is full; torch.save only says that its file has another length.",
        "pretrain.py",
        Truth("infrastructure", (0,), ("software", "storage_io")),
        ("--save", "checkpoints"),
        links={"checkpoints/iter_0000010.pt": "/dev/full"},
    ),
    Scenario(
        "metrics_find_no_space",
        "Rank 0 appends its metrics to a file on a device that is full.",
        "train_http.py",
        Truth("infrastructure", (0,), ("software",)),
        ("--endpoint", "{store}", "--timeout", "10", "--metrics", "metrics.jsonl"),
        layout=Layout.FILES,
        needs=("requests",),
        objects=features(),
        links={"metrics.jsonl": "/dev/full"},
    ),
    Scenario(
        "checkpoint_folder_is_missing",
        "Rank 0 writes a checkpoint below a folder that nobody made.",
        "pretrain.py",
        Truth("software", (0,), ("infrastructure",)),
        ("--save", "/mnt/results/run-17", "--save-interval", "6"),
        layout=Layout.STREAM,
        nodes=2,
        ranks_per_node=2,
    ),
    Scenario(
        "s3_upload_is_denied",
        "Rank 0 may not write to the bucket of checkpoints: ClientError of boto3.",
        "train_s3.py",
        Truth("software", (0,), ("infrastructure", "storage_io", "data")),
        ("--endpoint", "{store}", "--upload-every", "5"),
        needs=("boto3",),
        objects=tables,
        faults=(Fault(r"^put:/s3/checkpoints/", "status", status=403, message="Access Denied."),),
    ),
    Scenario(
        "loss_is_nan_on_one_rank",
        "The loss of rank 3 is no number; the script prints so and exits with 1, without a traceback.",
        "pretrain.py",
        Truth("software", (3,), ("data", "gpu")),
        ("--data", "weights/rank{rank}.txt"),
        files={"weights/rank3.txt": "nan"},
    ),
    Scenario(
        "rank_leaves_with_success",
        "Rank 2 has fewer shards and ends the interpreter with status 0; the others lose their connections.",
        "early_stop.py",
        Truth("software", (2,), ("data", "collective_mismatch", "infrastructure")),
        ("--shards", "2:11"),
        layout=Layout.FILES,
    ),
    Scenario(
        "node_is_lost",
        "The second node goes with its launcher and both ranks, without a last line.",
        "pretrain.py",
        Truth("infrastructure", (2, 3), ("network",)),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        acts=(Act(r"rank 1\] iteration \s+12/", _lose_node_1),),
    ),
    Scenario(
        "launcher_is_preempted",
        "The launcher is sent SIGTERM, as a scheduler does, and takes its ranks down.",
        "pretrain.py",
        Truth("infrastructure", (), ()),
        layout=Layout.TEE,
        acts=(Act(r"rank 2\] iteration \s+10/", _preempt),),
    ),
    Scenario(
        "killed_then_second_attempt_completes",
        "Rank 2 is killed; the launcher starts all ranks again, and the second attempt is done.",
        "pretrain.py",
        Truth("infrastructure", (2,), _GONE),
        ("--train-iters", "16"),
        # A store that outlives an attempt keeps gloo's old addresses, and the second attempt cannot connect.
        environment={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        launcher=("--max-restarts=1", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--rdzv-id=7731"),
        is_completed=True,
        acts=(Act(r"rank 0\] iteration \s+8/", _kill_rank_2),),
    ),
    Scenario(
        "lightning_validation_key_error",
        "A validation cut that rank 1 gets has no target: KeyError while it is collated, the others reduce.",
        "lightning_fit.py",
        Truth("data", (1,), ("software",)),
        ("--unlabelled", "13"),
        needs=("lightning",),
    ),
)
