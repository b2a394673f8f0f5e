"""Fine-tunes on compressed JSON lines that loader processes stream by fsspec; its log is one JSON object a line."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import cluster
import fsspec
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


def emit(event: str, **fields: Any) -> None:
    """One record of the log."""
    record = {"ts": round(time.time(), 3), "level": "info", "rank": dist.get_rank(), "event": event, **fields}
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


class Rows(IterableDataset):
    """The rows of some files, one file after the other."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls

    def __iter__(self) -> Any:
        worker = get_worker_info()
        for url in self.urls[worker.id :: worker.num_workers]:
            with fsspec.open(url, "rt", compression="gzip", encoding="utf-8") as file:
                for line in file:
                    yield encode(json.loads(line)["text"])


def encode(text: str) -> Any:
    """A bag of letters."""
    return torch.bincount(torch.tensor([ord(letter) % 32 for letter in text]), minlength=32).float()


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=6)
    args = parser.parse_args()
    rank, world = cluster.join()
    base = f"{os.environ['AIS_ENDPOINT']}/v1/objects/instruct/rank{rank}"
    urls = [f"{base}/part-{number:03d}.jsonl.gz" for number in range(args.files)]
    emit("start", world=world, files=len(urls), workers=args.workers)
    model = DistributedDataParallel(torch.nn.Linear(32, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Rows(urls), batch_size=args.batch_size, num_workers=args.workers, drop_last=True)
    for step, batch in enumerate(loader):
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        emit("train_step", step=step, loss=round(loss.item(), 5), tokens=int(batch.sum()))
        time.sleep(0.2)
    dist.barrier()
    emit("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
