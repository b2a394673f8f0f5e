"""Trains on rows that are streamed from the store: JSON lines and Parquet by datasets, compressed lines by fsspec."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import cluster
import datasets
import fsspec
import torch
from datasets.distributed import split_dataset_by_node
from loop import Loop
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from tqdm import tqdm


def bag(text: str) -> Any:
    return torch.bincount(torch.tensor([ord(letter) % 32 for letter in text[:400]]), minlength=32).float() / 20


class Packed(IterableDataset):
    """The rows of some compressed files, one file after the other."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls

    def __iter__(self) -> Any:
        worker = get_worker_info()
        for url in self.urls[worker.id :: worker.num_workers]:
            with fsspec.open(url, "rt", compression="gzip", encoding="utf-8") as file:
                for line in file:
                    yield bag(json.loads(line)["text"])


def rows_of(kind: str, rank: int, world: int) -> Any:
    base = f"{os.environ['AIS_ENDPOINT']}/v1/objects"
    if kind == "packed":
        urls = [f"{base}/instruct/rank{rank}/part-{number:03d}.jsonl.gz" for number in range(4)]
        return DataLoader(Packed(urls), batch_size=6, num_workers=1, drop_last=True)
    if kind == "lines":
        files = [f"{base}/dialogs/rank{rank}/part-{number:03d}.jsonl" for number in range(3)]
        rows = datasets.load_dataset("json", data_files=files, split="train", streaming=True)
        return (bag(row["text"])[None] for row in rows)
    urls = [f"{base}/web-text/train-{number:05d}-of-00012.parquet" for number in range(12)]
    tables = datasets.load_dataset("parquet", data_files={"train": urls}, split="train", streaming=True)
    own = split_dataset_by_node(tables, rank=rank, world_size=world)
    bar = tqdm(own.iter(4), desc=f"rank {rank}", total=30, mininterval=1.0, ncols=80)
    return (torch.stack([bag(text) for text in batch["text"]]) for batch in bar)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("lines", "tables", "packed"))
    args = parser.parse_args()
    rank, world = cluster.join()
    datasets.logging.set_verbosity_info()
    loop = Loop(torch.nn.Linear(32, 32), ddp=False, pause=0.1)
    for batch in rows_of(args.kind, rank, world):
        loop.step((loop.model(batch) - batch).square().mean())
    loop.end()


if __name__ == "__main__":
    main()
