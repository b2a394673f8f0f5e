"""Trains a sentiment classifier with DDP; the lines of one file are dealt out to the ranks."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("reviews")


class Reviews(Dataset[Any]):
    """The lines of a rank: stars, then the words."""

    def __init__(self, path: str, rank: int, world: int) -> None:
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()[rank::world]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        stars, _, text = self.lines[index].partition("\t")
        bag = torch.zeros(128)
        for word in text.split():
            bag[sum(map(ord, word)) % 128] += 1
        return bag, torch.tensor(float(int(stars) > 3))


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="reviews/train.tsv")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s - %(levelname)s - r{rank} - %(message)s")
    dataset = Reviews(args.data, rank, world)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(128, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    log.info("%d reviews in %s for this rank", len(dataset), args.data)
    for epoch in range(args.epochs):
        for number, (bags, labels) in enumerate(loader):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(bags).squeeze(1), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.info("epoch %d batch %d loss %.4f", epoch, number, loss.item())
            time.sleep(0.25)
        dist.barrier()
        if rank == 0:
            torch.save(model.module.state_dict(), f"reviews-{epoch}.pt")
            log.info("saved reviews-%d.pt", epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
