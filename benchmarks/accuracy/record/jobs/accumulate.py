"""Trains with DDP and gradient accumulation; a batch that cannot be used may be left out."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("trainer")


def load_batch(rank: int, number: int, broken: set[tuple[int, int]]) -> Any:
    """A batch; annotations that are broken cannot be turned into one."""
    boxes = [[4.0, 4.0, 12.0, 12.0]] * 4
    if (rank, number) in broken:
        boxes[2] = [8.0, 8.0, 8.0]
    return torch.tensor(boxes).repeat(1, 4)


def train(model: Any, rank: int, steps: int, every: int, broken: set[tuple[int, int]]) -> None:
    """Trains one epoch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for number in range(steps):
        try:
            rows = load_batch(rank, number, broken)
        except ValueError:
            log.exception("batch %d cannot be used, going on with the next one", number)
            continue
        is_last = (number + 1) % every == 0
        with contextlib.nullcontext() if is_last else model.no_sync():
            loss = model(rows).square().mean() / every
            loss.backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
            log.info("micro-batch %d: optimizer step %d, loss %.4f", number, (number + 1) // every, loss.item())
        time.sleep(0.1)


def main() -> None:
    """Trains and waits for the others."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batches", type=int, default=48)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--broken", default="", help="rank:batch pairs")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s trainer rank={rank}: %(message)s")
    every = int(os.environ.get("GRAD_ACCUM_STEPS", args.accumulate))
    log.info("world size %d, gradient accumulation over %d micro-batches", world, every)
    broken = {(int(one.split(":")[0]), int(one.split(":")[1])) for one in args.broken.split(",") if one}
    train(DistributedDataParallel(torch.nn.Linear(16, 16)), rank, args.micro_batches, every, broken)
    log.info("epoch finished, %d micro-batches; writing statistics", args.micro_batches)
    statistics = torch.ones(3)
    dist.all_reduce(statistics)
    log.info("statistics written")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
