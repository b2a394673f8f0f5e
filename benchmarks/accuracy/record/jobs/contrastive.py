"""Trains image and text towers against each other: features of all ranks are gathered for the loss."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.utils.data import BatchSampler, DistributedSampler

log = logging.getLogger("clip")


class Meter:
    """Collects values; how they are shown is up to a function."""

    def __init__(self, name: str, digits: int) -> None:
        self.name = name
        self.values: list[float] = []
        if digits > 3:
            self.show = lambda value: f"{value:.{digits}f}"

    def add(self, value: float) -> None:
        """One value more."""
        self.values.append(value)


def gather_features(features: Any, world: int) -> Any:
    """The features of all ranks."""
    parts = [torch.zeros_like(features) for _ in range(world)]
    dist.all_gather(parts, features)
    return torch.cat(parts)


def gather_meters(meter: Meter, world: int) -> list[Any]:
    """The meters of all ranks."""
    found: list[Any] = [None] * world
    dist.all_gather_object(found, meter)
    return found


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=320)
    parser.add_argument("--digits", default="", help="rank:digits, where the default of 3 is not enough")
    parser.add_argument("--lost", default="", help="rank:samples that cannot be read at the end of the list")
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s | %(levelname)s | Rank {rank} | %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, datefmt="%Y-%m-%d,%H:%M:%S")
    pairs = dict(one.split(":") for one in args.digits.split(",") if one)
    lost = dict(one.split(":") for one in args.lost.split(",") if one)
    indices = list(DistributedSampler(range(args.samples), world, rank, shuffle=False))
    indices = indices[: len(indices) - int(lost.get(str(rank), 0))]
    batches = list(BatchSampler(indices, 8, drop_last=False))
    log.info("%d samples in %d batches on this rank", len(indices), len(batches))
    meter = Meter("loss", int(pairs.get(str(rank), 3)))
    tower = torch.nn.Linear(16, 32)
    for number, batch in enumerate(batches):
        features = tower(torch.randn(len(batch), 16)).detach()
        log.info("Train Epoch: 0 [%d/%d] batch of %d pairs", number + 1, len(batches), len(batch))
        everyone = gather_features(features, world)
        meter.add(float((features @ everyone.T).logsumexp(1).mean()))
        time.sleep(0.15)
    log.info("gathering meters")
    meters = gather_meters(meter, world)
    log.info("epoch loss %.4f", sum(sum(one.values) for one in meters))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
