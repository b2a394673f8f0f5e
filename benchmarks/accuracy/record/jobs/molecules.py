"""Trains on molecules whose conformers a pool of processes computes; a watchdog shows stacks when a step takes long."""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import random
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist


def conformer(seed: int) -> list[float]:
    """Coordinates of a molecule, relaxed for a while."""
    chance = random.Random(seed)
    atoms = [chance.gauss(0, 1) for _ in range(12)]
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        atoms = [0.99 * atom for atom in atoms]
        time.sleep(0.002)
    return atoms


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--watchdog", type=float, default=12.0)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    pool: Any = multiprocessing.get_context("fork").Pool(args.workers)
    rank, world = cluster.join()
    weight = torch.zeros(12, requires_grad=True)
    for step in range(args.steps):
        faulthandler.dump_traceback_later(args.watchdog)
        seeds = range((step * world + rank) * args.batch, (step * world + rank + 1) * args.batch)
        x = torch.tensor(pool.map(conformer, seeds, chunksize=1))
        loss = (x @ weight - 1).square().mean()
        loss.backward()
        gradient: Any = weight.grad
        dist.all_reduce(gradient)
        with torch.no_grad():
            weight -= 0.1 / world * gradient
        weight.grad = None
        print(f"rank={rank} step={step} loss={loss.item():.4f} conformers={len(x)}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    pool.terminate()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
