"""Trains a ranking model in pairs of ranks: a pair shares one copy of the tables, pairs average their gradients."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist

log = logging.getLogger("towers")


def make_groups(rank: int, world: int, size: int) -> tuple[Any, Any]:
    """The ranks that hold a copy together, and those that hold the same part of it."""
    model = [dist.new_group(list(range(at, at + size))) for at in range(0, world, size)]
    data = [dist.new_group(list(range(part, world, size))) for part in range(size)]
    return model[rank // size], data[rank % size]


def same_hash_seed(group: Any) -> int:
    """Both ranks of a copy hash items in the same way."""
    seed = torch.randint(0, 10_000, (1,))
    dist.broadcast(seed, src=0, group=group)
    return int(seed)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--model-parallel-size", type=int, default=2)
    parser.add_argument("--rehash-every", type=int, default=0, help="steps between two ways to hash items")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(name)s rank{rank} %(levelname)s %(message)s")
    model_group, data_group = make_groups(rank, world, args.model_parallel_size)
    log.info("copy %d, part %d", rank // args.model_parallel_size, rank % args.model_parallel_size)
    seed = 17
    table = torch.randn(64, 16, generator=torch.Generator().manual_seed(2))
    for step in range(args.steps):
        if args.rehash_every and step % args.rehash_every == args.rehash_every - 1:
            seed = same_hash_seed(model_group)
            log.info("items hashed anew with seed %d", seed)
        items = (torch.arange(256) * 2654435761 + seed) % 64
        scores = table[items] @ table.mean(0)
        dist.all_reduce(scores, group=model_group)
        gradient = torch.zeros_like(table).index_add_(0, items, scores[:, None].expand(-1, 16) / 256)
        dist.all_reduce(gradient, group=data_group)
        table -= 0.01 * gradient
        log.info("step %d mean score %.5f", step, scores.mean())
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
