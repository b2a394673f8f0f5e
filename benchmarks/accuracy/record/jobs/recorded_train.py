"""Trains with torchelastic's error files: what ends a rank is stored for its launcher."""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

log = logging.getLogger("recognizer")


def resume(rank: int, folder: str) -> int:
    """The position of this rank's data when the checkpoint was written."""
    with open(f"{folder}/sampler_rank{rank}.json", encoding="utf-8") as file:
        return int(json.load(file)["position"])


def labels_of(rank: int, step: int, odd: set[tuple[int, int]], classes: int) -> Any:
    """The labels of a batch; some sets use 255 for what is not labelled."""
    labels = torch.randint(0, classes, (16,))
    if (rank, step) in odd:
        labels[5] = 255
    return labels


def warm_up(rank: int, steps: int) -> float:
    """The learning rate of the first steps; its settings may differ by host."""
    factor = float(os.environ.get("WARMUP_FACTOR", "0.1"))
    if not 0.0 < factor <= 1.0:
        raise ValueError(f"warm-up factor must lie in (0, 1], got {factor}")
    return factor / steps


@record
def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--odd", default="", help="rank:step pairs")
    parser.add_argument("--resume")
    args = parser.parse_args()
    rank, world = cluster.join()
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    logging.basicConfig(level=logging.INFO, format=f"%(levelname)s %(asctime)s rank={rank} run={attempt} %(message)s")
    log.info("world size is %d", world)
    if args.resume:
        log.info("resuming from %s", args.resume)
        log.info("data goes on at sample %d", resume(rank, args.resume))
    odd = {(int(one.split(":")[0]), int(one.split(":")[1])) for one in args.odd.split(",") if one}
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(24, 19))
    optimizer = torch.optim.SGD(model.parameters(), lr=warm_up(rank, 4))
    for step in range(args.steps):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(16, 24)), labels_of(rank, step, odd, 19))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        time.sleep(0.15)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
