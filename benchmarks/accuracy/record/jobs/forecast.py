"""Trains a forecaster of loads; the first rank of each host looks at its scratch disk before all begin."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import time

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

logger = logging.getLogger("forecast")
EX_CONFIG = 78


def look_over(scratch: str, need_gib: float) -> None:
    """Leaves when this host cannot take the cache."""
    free = shutil.disk_usage(scratch).free / 2**30
    logger.info("scratch %s: %.1f GiB free", scratch, free)
    if free < need_gib:
        logger.error("scratch %s: %.1f GiB free, need %.1f GiB for the feature cache", scratch, free, need_gib)
        sys.exit(EX_CONFIG)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--scratch", default="")
    parser.add_argument("--cache-gib", type=float, default=0.5)
    parser.add_argument("--horizon", type=int, default=24)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][{rank:03d}][%(levelname)-7s] %(message)s")
    host = rank // int(os.environ["LOCAL_WORLD_SIZE"])
    if args.scratch and int(os.environ["LOCAL_RANK"]) == 0:
        look_over(args.scratch.format(host=host), args.cache_gib)
    dist.barrier()
    logger.info("all %d ranks are here, building the windows", world)
    series = torch.sin(torch.arange(4000) / 24) + 0.1 * torch.randn(4000)
    windows = series.unfold(0, 4 * args.horizon, 7)
    model = DistributedDataParallel(torch.nn.Linear(3 * args.horizon, args.horizon))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        batch = windows[torch.randint(0, len(windows), (32,))]
        loss = (model(batch[:, : 3 * args.horizon]) - batch[:, 3 * args.horizon :]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            logger.info("step=%d mse=%.4f", step, loss.item())
        time.sleep(0.2)
    dist.barrier()
    logger.info("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
