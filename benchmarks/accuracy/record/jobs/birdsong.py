"""Trains a classifier of bird calls; clips lie in a local folder and are read and filtered by loader processes."""

from __future__ import annotations

import argparse
import ctypes
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


def open_filters() -> Any:
    """The native filters of this host."""
    return ctypes.CDLL(os.environ.get("BIRD_FILTERS", "libm.so.6"))


class Clips(Dataset):
    """Short recordings as text, one number a line."""

    def __init__(self, root: str, count: int) -> None:
        self.root, self.count = root, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        with open(f"{self.root}/clip{index:04d}.txt", encoding="utf-8") as file:
            wave = torch.tensor([float(line) for line in file])
        return wave / wave.abs().max(), index % 5


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clips", type=int, default=192)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--native-filters", action="store_true")
    args = parser.parse_args()
    rank, _ = cluster.join()
    if args.native_filters:
        open_filters()
    root = os.environ.get("BIRDS_ROOT", "birds")
    clips = Clips(root, args.clips)
    sampler = DistributedSampler(clips)
    loader = DataLoader(clips, batch_size=4, sampler=sampler, num_workers=args.workers)
    net = torch.nn.Sequential(torch.nn.Conv1d(1, 6, 9, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool1d(1))
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(net, torch.nn.Flatten(), torch.nn.Linear(6, 5))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for batch, (waves, labels) in enumerate(loader):
            loss = torch.nn.functional.cross_entropy(model(waves[:, None]), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"INFO rank={rank} epoch={epoch} batch={batch}/{len(loader)} loss={loss.item():.3f}", flush=True)
            time.sleep(0.1)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
