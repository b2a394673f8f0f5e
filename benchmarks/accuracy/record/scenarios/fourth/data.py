"""Samples, tables and weights that are not what the job takes them for."""

from __future__ import annotations

import json

from benchmarks.accuracy.record.rows import row_tables, rows_cut, rows_joined, tower_weights
from benchmarks.accuracy.record.scenario import Fault, Layout, Scenario, Start, Truth

_HEAD = "tenure,calls,visits,invoices,age,region,left\n"


def _chats(count: int = 240, long: int = 100) -> dict[str, str]:
    rows = []
    for number in range(count):
        times = 60 if number == long else 2 + number % 3
        said = "name the rivers of the sea and the " + "Volga and Elbe and " * times
        turns = [{"role": "user", "content": "name a river"}, {"role": "assistant", "content": said}]
        rows.append(json.dumps({"id": number, "turns": turns}))
    return {"chats/train.jsonl": "\n".join(rows) + "\n"}


def _splits(*counts: int) -> dict[str, str]:
    files = {}
    for rank, count in enumerate(counts):
        rows = (f"{row % 60},{row % 7},{row % 11},{row % 5},{20 + row % 50},{rank},{row % 2}\n" for row in range(count))
        files[f"splits/train.{rank}.csv"] = _HEAD + "".join(rows)
    return files


SCENARIOS = (
    Scenario(
        "compressed_rows_end_early",
        "A compressed file of rank 1 was stored without its end: EOFError in a loader process that unpacks it.",
        "sft_rows.py",
        Truth("data", (1,), ("storage_io", "network")),
        layout=Layout.FILES,
        launcher=("--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--rdzv-id=sft-7"),
        needs=("fsspec", "aiohttp"),
        objects=rows_cut(1, 2),
        group_timeout_s=120,
    ),
    Scenario(
        "two_rows_in_one_line",
        "Two rows of a file of rank 3 lack the line end between them: JSONDecodeError in a loader process.",
        "sft_rows.py",
        Truth("data", (3,), ("software",)),
        layout=Layout.SRUN,
        nodes=2,
        ranks_per_node=2,
        needs=("fsspec", "aiohttp"),
        objects=rows_joined(3, 1),
        group_timeout_s=120,
    ),
    Scenario(
        "parquet_lacks_its_footer",
        "A Parquet table that rank 2 comes to was stored without its end; datasets cannot open it.",
        "web_tables.py",
        Truth("data", (2,), ("storage_io", "software")),
        layout=Layout.STREAM,
        needs=("datasets", "aiohttp"),
        objects=row_tables(cut=6),
        group_timeout_s=120,
    ),
    Scenario(
        "conversation_longer_than_positions",
        "A conversation of process 1 has more tokens than the model has positions: the lookup of one is out of range.",
        "chat_tune.py",
        Truth("data", (1,), ("software",)),
        layout=Layout.TEE,
        nodes=2,
        ranks_per_node=2,
        needs=("transformers", "accelerate", "tokenizers"),
        files=_chats(),
        group_timeout_s=120,
    ),
    Scenario(
        "one_row_left_for_batch_norm",
        "A single row is left for the last batch of rank 2: batch normalisation cannot be trained on it.",
        "churn.py",
        Truth("software", (2,), ("data",)),
        layout=Layout.TASKS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        files=_splits(160, 160, 145, 160),
        group_timeout_s=60,
    ),
    Scenario(
        "nothing_in_the_split_of_a_rank",
        "The split of rank 4 has a head and no rows: there is nothing to draw samples from.",
        "churn.py",
        Truth("data", (4,), ("software", "infrastructure")),
        layout=Layout.LABELS,
        start=Start.TASKS,
        launcher=("--kill-on-bad-exit",),
        nodes=3,
        ranks_per_node=2,
        files=_splits(160, 160, 160, 160, 0, 160),
        group_timeout_s=60,
    ),
    Scenario(
        "weights_have_another_hash",
        "The weights rank 0 takes from a hub have not the hash their name says; the others wait for them.",
        "warm_tower.py",
        Truth("data", (0,), ("storage_io", "network", "software")),
        ("--hub", "tower-3f9a61c2.pth"),
        layout=Layout.SRUN_TEE,
        nodes=2,
        ranks_per_node=2,
        needs=("safetensors",),
        objects=tower_weights,
        faults=(Fault(r"^/v1/.*/tower-3f9a61c2\.pth", "spoil"),),
        group_timeout_s=60,
    ),
)
