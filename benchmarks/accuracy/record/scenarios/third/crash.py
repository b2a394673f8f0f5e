"""Ranks that raise, alone or all of them, without storage in sight."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.accuracy.record.payloads import array, tables
from benchmarks.accuracy.record.scenario import Layout, Scenario, Start, Truth
from benchmarks.accuracy.record.texts import books, boxes, instructions, masks

_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0\n"
_NO_ANSWER = {"prompt": "Name a lake.", "completion": "Ladoga."}


def _narrow_table() -> Mapping[str, bytes]:
    return {**tables(), "tabular/day=01/part-0006.npy": array(5, columns=31)}


SCENARIOS = (
    Scenario(
        "character_not_in_vocabulary",
        "The text of rank 2 has a typographic apostrophe, which the vocabulary lacks: KeyError.",
        "char_lm.py",
        Truth("data", (2,), ("software",)),
        files=books(odd={2: (128 * 22 + 40, "’")}),
    ),
    Scenario(
        "text_file_is_missing",
        "The text of rank 3 was not copied: FileNotFoundError before the first step.",
        "char_lm.py",
        Truth("data", (3,), ("software", "infrastructure")),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        files=books(3),
    ),
    Scenario(
        "option_is_not_known",
        "The script does not know an option of its command line: argparse ends every rank with 2.",
        "char_lm.py",
        Truth("software", None),
        ("--data-dir", "data/books", "--lr", "0.001"),
        layout=Layout.STREAM,
        files=books(),
    ),
    Scenario(
        "image_is_said_to_be_huge",
        "An annotation of rank 1 has a size in other units: a loader process cannot allocate the image.",
        "detect.py",
        Truth("data", (1,), ("software", "infrastructure")),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        files=boxes(odd={81: {"width": 6_400_000, "height": 6_400_000}}),
    ),
    Scenario(
        "table_has_fewer_columns",
        "A table of rank 1 lacks two columns: its matrix does not fit the first layer.",
        "tables_boto.py",
        Truth("data", (1,), ("software",)),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        ranks_per_node=3,
        needs=("boto3",),
        objects=_narrow_table,
    ),
    Scenario(
        "snapshot_is_a_pointer",
        "The snapshot is the pointer file that git stores for large files: torch.load fails on all ranks.",
        "snapshots.py",
        Truth("data", None, ("software",)),
        ("50", "5"),
        layout=Layout.FILES,
        ranks_per_node=3,
        files={"snapshots/snapshot.pt": _POINTER},
    ),
    Scenario(
        "cache_finds_no_space_twice",
        "The cache of rank 1 lies on a device that is full; so it does at the second attempt.",
        "mmap_train.py",
        Truth("infrastructure", (1,), ("software",)),
        layout=Layout.TEE,
        environment={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        launcher=("--max-restarts=1", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--rdzv-id=tok-4"),
        links={"cache/tokens_rank1.bin": "/dev/full"},
    ),
    Scenario(
        "event_file_not_writable",
        "Rank 1 may not write its event file: PermissionError after some rounds.",
        "selfplay.py",
        Truth("infrastructure", (1,), ("software",)),
        layout=Layout.SRUN,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=2,
        ranks_per_node=2,
        links={"runs/1/events.log": "/sys/kernel/uevent_seqnum"},
    ),
    Scenario(
        "debugger_without_terminal",
        "A breakpoint in the script stops rank 0, and there is no terminal to type at.",
        "selfplay.py",
        Truth("software", (0,)),
        ("--inspect", "12"),
        layout=Layout.TEE,
        ranks_per_node=3,
    ),
    Scenario(
        "mask_has_unknown_class",
        "A mask of process 1 marks what is to be ignored by 255: an assertion fails, torch.multiprocessing shows it.",
        "segment_spawn.py",
        Truth("data", (1,), ("software",)),
        layout=Layout.SRUN,
        start=Start.SPAWN,
        files=masks(odd=(1, 14)),
    ),
    Scenario(
        "answer_is_called_otherwise",
        "A row of rank 1 has another name for the answer: KeyError while the others gather shards of FSDP.",
        "fsdp_sft.py",
        Truth("data", (1,), ("software",)),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        files=instructions(odd={37: _NO_ANSWER}),
    ),
    Scenario(
        "parameters_unused_on_all_ranks",
        "A layer of the model takes no part in the loss: DDP of every rank complains in the second step.",
        "distill_hf.py",
        Truth("software", None, ("collective_mismatch",)),
        ("--projection",),
        layout=Layout.TEE,
        ranks_per_node=2,
        needs=("transformers", "accelerate"),
    ),
    Scenario(
        "tracking_server_refuses",
        "Nobody listens at the tracking server's port: the main process of the Trainer ends with its first report.",
        "distill_hf.py",
        Truth("network", (0,), ("software", "infrastructure")),
        ("--tracking", "http://127.0.0.1:5999"),
        layout=Layout.STREAM,
        ranks_per_node=3,
        needs=("transformers", "accelerate", "requests"),
    ),
    Scenario(
        "metric_to_watch_is_not_logged",
        "Lightning's checkpoints are to follow a metric that the model does not log.",
        "tune_lit.py",
        Truth("software", None),
        ("--watch", "val/f1"),
        layout=Layout.SRUN,
        ranks_per_node=2,
        needs=("lightning", "requests"),
    ),
)
