"""Trains a land cover classifier with DDP; classes are weighted by how often all ranks have seen them."""

from __future__ import annotations

import argparse
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

CLASSES = 12
IGNORE = 255


def read_tiles(path: str) -> tuple[Any, Any]:
    """Bands and labels of the parcels of a region, a parcel a line."""
    bands, labels = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            label, *values = line.split(",")
            labels.append(int(label))
            bands.append([float(one) for one in values])
    return torch.tensor(bands), torch.tensor(labels)


def class_weights(labels: Any, rank: int) -> Any:
    """Rare classes count more."""
    counts = torch.bincount(labels, minlength=CLASSES).float()
    print(f"rank={rank} counted {len(labels)} parcels in {len(counts)} classes", flush=True)
    dist.all_reduce(counts)
    return (counts.sum() / counts.clamp(min=1)).sqrt()[:CLASSES]


def main() -> None:
    """Trains some epochs over the regions of a rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--regions", type=int, default=6)
    parser.add_argument("--batch", type=int, default=10)
    args = parser.parse_args()
    rank, world = cluster.join()
    torch.manual_seed(4)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(5, 24), torch.nn.GELU(), torch.nn.Linear(24, CLASSES)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    print(f"rank={rank} of {world} ready, {args.regions} regions", flush=True)
    for region in range(args.regions):
        bands, labels = read_tiles(f"parcels/{rank}/region{region:02d}.csv")
        weights = class_weights(labels, rank)
        for at in range(0, len(labels), args.batch):
            scores = model(bands[at : at + args.batch])
            target = labels[at : at + args.batch]
            loss = torch.nn.functional.cross_entropy(scores, target, weights, ignore_index=IGNORE)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.15)
        print(f"rank={rank} region={region} loss={loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
