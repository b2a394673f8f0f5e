"""Trains a segmentation head with torch.multiprocessing; masks are lists of classes in a JSON file a process."""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

CLASSES = 21


def mask_of(row: Any) -> Any:
    """The mask of a sample, checked."""
    mask = torch.tensor(row["mask"])
    assert mask.ndim == 1 and int(mask.max()) < CLASSES, f"mask of {row['image']} has class {int(mask.max())}"
    return mask


def train(rank: int, args: argparse.Namespace) -> None:
    """One process."""
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s %(processName)s] %(message)s", datefmt="%H:%M:%S")
    wait = timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))
    dist.init_process_group("gloo", rank=rank, world_size=args.gpus, timeout=wait)
    with open(f"masks/{rank}.json", encoding="utf-8") as file:
        rows = json.load(file)
    logging.info("rank %d: %d masks", rank, len(rows))
    head = DistributedDataParallel(torch.nn.Conv1d(3, CLASSES, 1))
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
    for step, row in enumerate(rows):
        mask = mask_of(row)
        loss = torch.nn.functional.cross_entropy(head(torch.randn(1, 3, len(mask))), mask[None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 2 == 0:
            logging.info("rank %d: step %d/%d loss %.4f", rank, step, len(rows), loss.item())
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Starts the processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=4)
    args = parser.parse_args()
    mp.spawn(train, (args,), nprocs=args.gpus, join=True)


if __name__ == "__main__":
    main()
