"""Trains and keeps the last checkpoints in a folder all nodes share; the best one is read again in the end."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

logger = logging.getLogger("trainer")


def save(folder: Path, step: int, model: Any, args: argparse.Namespace) -> None:
    """The first rank writes a checkpoint."""
    target = folder / f"checkpoint-{step}"
    target.mkdir(parents=True, exist_ok=True)
    for number in range(24):
        torch.save({"numpy": torch.get_rng_state()[:64]}, target / f"rng_state_{number}.pth")
    state = {"model": model.module.state_dict(), "step": step, "args": args}
    torch.save(state, target / "model.pt")
    logger.info("saved %s", target)


def rotate(folder: Path, keep: int) -> None:
    """Deletes the oldest checkpoints, once a node."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    dist.barrier()
    if os.environ["LOCAL_RANK"] != "0":
        return
    # Nodes take turns, so that they do not all hit the file server at once.
    time.sleep(1.0 * int(os.environ["GROUP_RANK"]))
    for path in found[:-keep]:
        logger.info("deleting %s [save_total_limit=%d]", path, keep)
        shutil.rmtree(path)


def main() -> None:
    """Trains, then reads what was best."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="output")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--save-steps", type=int, default=6)
    parser.add_argument("--keep", type=int, default=2)
    args = parser.parse_args()
    rank, _ = cluster.join()
    level = logging.INFO if os.environ["LOCAL_RANK"] == "0" else logging.WARNING
    form = f"%(asctime)s - rank {rank} - %(levelname)s - %(message)s"
    logging.basicConfig(level=level, format=form, stream=sys.stdout)
    model = DistributedDataParallel(torch.nn.Linear(48, 48))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    folder = Path(args.output)
    for step in range(1, args.steps + 1):
        loss = model(torch.randn(8, 48)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.info("{'loss': %.4f, 'step': %d}", loss.item(), step)
        time.sleep(0.2)
        if step % args.save_steps == 0:
            if rank == 0:
                save(folder, step, model, args)
            dist.barrier()
            rotate(folder, args.keep)
    dist.barrier()
    last = folder / f"checkpoint-{args.steps}" / "model.pt"
    logger.info("evaluating %s", last)
    model.module.load_state_dict(torch.load(last, map_location="cpu")["model"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
