"""Fits a network to tables; after each epoch all ranks are told how the first one goes on."""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Schedule:
    """Lowers the rate when the loss no longer falls, and keeps what happened."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.best = float("inf")
        self.history: Any = None

    def record_to(self, folder: Path) -> None:
        """Writes every epoch to a table."""
        folder.mkdir(exist_ok=True)
        self.history = csv.writer((folder / "history.csv").open("w", newline="", encoding="utf-8"))

    def after(self, epoch: int, loss: float) -> None:
        """Looks at the loss of an epoch."""
        if loss > 0.98 * self.best:
            self.rate *= 0.5
        self.best = min(self.best, loss)
        if self.history is not None:
            self.history.writerow([epoch, loss, self.rate])


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--run-dir", default="", help="folder for a table of the epochs")
    args = parser.parse_args()
    rank, world = cluster.join()
    schedule = Schedule(0.05)
    if rank == 0 and args.run_dir:
        schedule.record_to(Path(args.run_dir))
    model = DDP(torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.SiLU(), torch.nn.Linear(32, 1)))
    print(f"[{time.strftime('%H:%M:%S')}] rank {rank}/{world}: ready", flush=True)
    for epoch in range(args.epochs):
        optimizer = torch.optim.SGD(model.parameters(), lr=schedule.rate)
        total = 0.0
        for _ in range(args.batches):
            rows = torch.randn(32, 12)
            loss = (model(rows).squeeze(1) - rows.sum(1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.12)
        print(f"[{time.strftime('%H:%M:%S')}] rank {rank}: epoch {epoch} loss {total / args.batches:.4f}", flush=True)
        if rank == 0:
            schedule.after(epoch, total / args.batches)
        told = [schedule]
        dist.broadcast_object_list(told, src=0)
        schedule = told[0]
        print(f"[{time.strftime('%H:%M:%S')}] rank {rank}: rate is {schedule.rate:.4f} now", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
