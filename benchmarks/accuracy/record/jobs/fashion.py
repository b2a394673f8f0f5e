"""Trains a small convolutional net with DDP and batch normalisation, much as tutorials do it."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class ResidualBlock(nn.Module):
    """A convolution with a way around it."""

    def __init__(self, width: int, inplace: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """The features of the next block."""
        out = torch.sigmoid(self.norm(self.conv(x)))
        if self.inplace:
            out += x
            return out
        return out + x


class Net(nn.Module):
    """Two blocks and a classifier."""

    def __init__(self, inplace: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.blocks = nn.Sequential(ResidualBlock(8, inplace), ResidualBlock(8, inplace))
        self.fc = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        """Scores."""
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def batch_of(size: int, device: Any) -> Any:
    """Random images with labels."""
    return torch.randn(size, 1, 14, 14, device=device), torch.randint(0, 10, (size,), device=device)


def validate(model: Any, batches: int, device: Any) -> float:
    """Accuracy over the validation images."""
    model.eval()
    hits = 0.0
    for _ in range(batches):
        images, labels = batch_of(16, device)
        hits += (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return hits / batches


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--iters", type=int, default=40)
    parser.add_argument("--val-every", type=int, default=0)
    parser.add_argument("--val-batches", type=int, default=5)
    parser.add_argument("--inplace", action="store_true", help="saves memory")
    parser.add_argument("--device", default=os.environ.get("TRAIN_DEVICE", "cpu"))
    args = parser.parse_args()
    rank, world = cluster.join()
    device = torch.device(args.device)
    print(f"=> rank {rank} of {world}, device {device}", flush=True)
    model = DistributedDataParallel(Net(args.inplace).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    start = time.time()
    for it in range(1, args.iters + 1):
        images, labels = batch_of(16, device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.2)
        if it % 2 == 0:
            print(f"[{rank}] iter {it:3d}/{args.iters}  loss {loss.item():.3f}  {time.time() - start:.1f}s", flush=True)
        if args.val_every and it % args.val_every == 0 and rank == 0:
            acc = validate(model, args.val_batches, device)
            print(f"[{rank}] * iter {it} Acc@1 {100 * acc:.2f}", flush=True)
    dist.barrier()
    print(f"[{rank}] done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
