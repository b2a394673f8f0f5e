"""Trains a churn model on one CSV split a rank, started as tasks of a batch system; every task prints."""

from __future__ import annotations

import argparse
import csv
import os
import time
from datetime import datetime
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def say(*words: Any) -> None:
    """Prints with the time and the task."""
    print(f"[{datetime.now():%d.%m. %H:%M:%S}] [task {os.environ['SLURM_PROCID']}]", *words, flush=True)


def split_of(path: str) -> TensorDataset:
    """The rows of a split, the last column is the label."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [[float(value) for value in row] for row in list(csv.reader(file))[1:]]
    table = torch.tensor(rows).reshape(-1, 7)
    return TensorDataset(table[:, :-1], table[:, -1:])


def main() -> None:
    """Trains a few epochs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--split", default="splits/train.{rank}.csv")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    rank, world = cluster.join()
    say(f"joined, {world} tasks")
    path = args.split.format(rank=rank)
    rows = split_of(path)
    say(f"read {path}")
    loader = DataLoader(rows, batch_size=args.batch_size, sampler=RandomSampler(rows))
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(args.epochs):
        for number, (features, label) in enumerate(loader):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(features), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % 3 == 0:
                say(f"epoch {epoch + 1} batch {number + 1}/{len(loader)} loss {loss.item():.4f}")
            time.sleep(0.25)
    dist.barrier()
    say("done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
