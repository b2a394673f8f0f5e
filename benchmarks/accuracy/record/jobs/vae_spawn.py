"""Trains a small variational autoencoder on all processors of one machine, with torch.multiprocessing."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


class VAE(torch.nn.Module):
    """Encodes into a mean and a variance."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.Linear(32, 8)
        self.decoder = torch.nn.Linear(4, 32)

    def forward(self, x: Any) -> Any:
        """The loss."""
        mean, spread = self.encoder(x).chunk(2, -1)
        again = self.decoder(mean + torch.randn_like(mean) * (0.5 * spread).exp())
        return (again - x).square().mean() - 0.01 * (1 + spread - mean.square() - spread.exp()).mean()


def setup(rank: int, world_size: int) -> None:
    """Joins the group."""
    wait = timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))
    dist.init_process_group("gloo", rank=rank, world_size=world_size, timeout=wait)


def run(rank: int, world_size: int, steps: int) -> None:
    """One process."""
    print(f"Running DDP VAE on rank {rank}.", flush=True)
    setup(rank, world_size)
    model = DistributedDataParallel(VAE())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        loss = model(torch.randn(64, 32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
        if step % 5 == 0:
            print(f"rank {rank} step {step}: elbo {-loss.item():.4f}", flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Starts the processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--world-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--coordinator", default="", help="where rank 0 is to listen, when not as the environment says")
    args = parser.parse_args()
    if args.coordinator:
        place = urlsplit(args.coordinator)
        os.environ.update(MASTER_ADDR=str(place.hostname), MASTER_PORT=str(place.port))
    mp.spawn(run, args=(args.world_size, args.steps), nprocs=args.world_size, join=True)


if __name__ == "__main__":
    main()
