"""Trains a mixture of experts: dense gradients go over all ranks, those of experts over a group of their own."""

from __future__ import annotations

import argparse
import logging
import os
import time
from datetime import timedelta
from typing import Any

import cluster
import torch
import torch.distributed as dist

log = logging.getLogger("moe")


def group_of(ranks: list[int]) -> Any:
    """A group that waits as long as the group of all."""
    return dist.new_group(ranks, timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"])))


def evaluation_group(rank: int, count: int) -> Any:
    """A group of the first ranks, which evaluate."""
    if rank < count:
        log.info("building evaluation group of %d ranks", count)
        return group_of(list(range(count)))
    return None


def reduce_gradients(names: list[str], groups: dict[str, Any], gradients: dict[str, Any]) -> None:
    """Reduces one kind after the other."""
    for name in names:
        log.info("reducing %s gradients", name)
        dist.all_reduce(gradients[name], group=groups[name])


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--evaluate-at", type=int, default=-1)
    parser.add_argument("--rebuild-at", type=int, default=-1)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(levelname).1s%(asctime)s r{rank} %(filename)s] %(message)s")
    groups = {"dense": group_of(list(range(world))), "expert": group_of(list(range(world)))}
    first = os.environ.get("OVERLAP_FROM_STEP", "")
    log.info("world %d, overlap of expert gradients %s", world, f"from step {first}" if first else "off")
    for step in range(args.steps):
        if step == args.evaluate_at:
            evaluation_group(rank, 2)
        if step == args.rebuild_at:
            log.info("rebuilding expert group after rebalancing")
            groups["expert"] = group_of(list(range(world)))
        order = ["expert", "dense"] if first and step >= int(first) else ["dense", "expert"]
        reduce_gradients(order, groups, {"dense": torch.ones(4096), "expert": torch.ones(512)})
        log.info("step %d done", step)
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
