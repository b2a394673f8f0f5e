"""Trains on lists of recordings that the first rank prepares; all start together when all lists are there."""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from datetime import timedelta
from pathlib import Path

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("manifests")


def prepare(folder: Path, count: int, shards: int, pause: float) -> None:
    """Writes the lists."""
    folder.mkdir(exist_ok=True)
    for shard in range(shards):
        rows = [{"audio": f"wav/{number:05d}.wav", "seconds": 1 + number % 7} for number in range(shard, count, shards)]
        time.sleep(pause)
        part = folder / f"{shard}.json.part"
        part.write_text(json.dumps(rows), "utf-8")
        part.rename(folder / f"{shard}.json")
    log.info("prepared %d recordings in %d lists", count, shards)


def wait_for(path: Path) -> list[dict[str, float]]:
    """The rows of a list, as soon as it is there."""
    waited = 0
    while not path.exists():
        time.sleep(1)
        waited += 1
        if waited % 4 == 0:
            log.warning("%s is not there yet, %d s", path, waited)
    rows: list[dict[str, float]] = json.loads(path.read_text("utf-8"))
    return rows


def agree_to_stop(loss: float, goal: float) -> bool:
    """All stop as soon as one has reached the goal."""
    flag = torch.tensor([int(loss < goal)])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--recordings", type=int, default=240)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--prepare-pause", type=float, default=0.2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--goal", type=float, default=0.0)
    args = parser.parse_args()
    rank, _ = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(levelname)s:%(asctime)s:rank {rank}: %(message)s")
    folder = Path("lists")
    if rank == 0:
        prepare(folder, args.recordings, args.shards, args.prepare_pause)
    rows = wait_for(folder / f"{rank}.json")
    dist.monitored_barrier(timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"])))
    log.info("%d recordings of %.0f s", len(rows), sum(row["seconds"] for row in rows))
    model = DDP(torch.nn.Linear(20, 4), find_unused_parameters=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(args.steps):
        frames = torch.randn(16, 20)
        loss = (model(frames) - frames[:, :4]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        time.sleep(0.2)
        if agree_to_stop(loss.item(), args.goal):
            log.warning("stopping early at step %d", step)
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
