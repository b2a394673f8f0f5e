"""Trains in the style of PyTorch's fault tolerance tutorial: a Trainer that goes on from its snapshot."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    """Trains, and saves a snapshot every few epochs."""

    def __init__(self, model: Any, save_every: int, snapshot_path: str) -> None:
        self.rank = int(os.environ["RANK"])
        self.save_every, self.snapshot_path = save_every, snapshot_path
        self.epochs_run = 0
        self.model = model
        if os.path.exists(snapshot_path):
            print(f"[{self.rank}] Loading snapshot {snapshot_path}", flush=True)
            self._load_snapshot()
        self.model = DDP(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def _load_snapshot(self) -> None:
        snapshot = torch.load(self.snapshot_path, map_location="cpu")
        self.model.load_state_dict(snapshot["MODEL_STATE"])
        self.epochs_run = snapshot["EPOCHS_RUN"]
        print(f"[{self.rank}] Resuming training from snapshot at Epoch {self.epochs_run}", flush=True)

    def _save_snapshot(self, epoch: int) -> None:
        os.makedirs(os.path.dirname(self.snapshot_path), exist_ok=True)
        torch.save({"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch}, self.snapshot_path)
        print(f"Epoch {epoch} | Training snapshot saved at {self.snapshot_path}", flush=True)

    def _run_epoch(self, epoch: int) -> None:
        for _ in range(3):
            loss = self.model(torch.randn(16, 20)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.2)
        print(
            f"{time.strftime('%H:%M:%S')} [{self.rank}] Epoch {epoch} | Steps: 3 | Loss {loss.item():.4f}", flush=True
        )

    def train(self, max_epochs: int) -> None:
        """All epochs that are left."""
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)
            if self.rank == 0 and epoch % self.save_every == 0 and epoch:
                self._save_snapshot(epoch)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser(description="simple distributed training job")
    parser.add_argument("total_epochs", type=int)
    parser.add_argument("save_every", type=int)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--snapshot", default="snapshots/snapshot.pt")
    args = parser.parse_args()
    rank, world = cluster.join()
    print(f"[{rank}] {world} processes, attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", flush=True)

    net = torch.nn.Sequential(torch.nn.Linear(20, args.width), torch.nn.ReLU(), torch.nn.Linear(args.width, 1))
    Trainer(net, args.save_every, args.snapshot).train(args.total_epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
