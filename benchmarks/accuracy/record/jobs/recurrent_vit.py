"""Trains a small vision transformer whose block is applied several times, with less memory for activations."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Block(torch.nn.Module):
    """Attention and a network of two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width)
        )

    def forward(self, x: Any) -> Any:
        """Adds what it finds."""
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


class RecurrentViT(torch.nn.Module):
    """One block, applied as often as is deep enough."""

    def __init__(self, width: int, depth: int, save_memory: bool) -> None:
        super().__init__()
        self.patch = torch.nn.Linear(48, width)
        self.block = Block(width)
        self.head = torch.nn.Linear(width, 10)
        self.depth = depth
        self.save_memory = save_memory

    def forward(self, patches: Any) -> Any:
        """Scores of the classes."""
        x = self.patch(patches)
        for _ in range(self.depth):
            x = checkpoint(self.block, x, use_reentrant=True) if self.save_memory else self.block(x)
        return self.head(x.mean(1))


def worker(rank: int, world: int, args: argparse.Namespace) -> None:
    """One process."""
    wait = timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=wait)
    torch.manual_seed(rank)
    model = DDP(RecurrentViT(32, args.depth, args.activation_checkpointing))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    count = sum(one.numel() for one in model.parameters())
    print(f"[gpu {rank}] {count} parameters, depth {args.depth}", flush=True)
    for step in range(args.steps):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 16, 48)), torch.randint(0, 10, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"[gpu {rank}] step {step} loss {loss.item():.4f}", flush=True)
        time.sleep(0.1)
    dist.destroy_process_group()


def main() -> None:
    """Starts a process for every device."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=3)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--activation-checkpointing", action="store_true")
    args = parser.parse_args()
    mp.spawn(worker, args=(args.gpus, args), nprocs=args.gpus, join=True)


if __name__ == "__main__":
    main()
