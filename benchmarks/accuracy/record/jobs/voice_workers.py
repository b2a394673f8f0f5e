"""Trains on recordings of a manifest, which loader processes synthesise and resample; every rank logs."""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger(__name__)
CODECS = {"pcm_s16le", "flac", "opus"}


def fail(message: str) -> None:
    """Prints what is wrong and leaves."""
    print(f"voice: {message}", file=sys.stderr)
    sys.exit(1)


def decode(row: dict[str, Any]) -> list[float]:
    """The samples of a recording."""
    if row["codec"] not in CODECS:
        fail(f"{row['id']}: no decoder for {row['codec']}")
    count = int(row["seconds"] * row["rate"] / 100)
    return [math.sin(row["pitch"] * number / row["rate"]) for number in range(count)]


def resample(samples: list[float], rate: int, wanted: int) -> list[float]:
    """Linear interpolation, in plain Python."""
    made, step = [], rate / wanted
    at = 0.0
    while at < len(samples) - 1:
        low = int(at)
        made.append(samples[low] * (1 - at + low) + samples[low + 1] * (at - low))
        at += step
    return made


class Recordings(Dataset):
    """The recordings of this rank."""

    def __init__(self, path: str, rank: int, world: int) -> None:
        with open(path, encoding="utf-8") as file:
            self.rows = [json.loads(line) for line in file][rank::world]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        if row["rate"] != 16000:
            logger.info("%s: %.0f s at %d Hz, resampling", row["id"], row["seconds"], row["rate"])
        samples = decode(row)
        samples = resample(samples, row["rate"], 16000) if row["rate"] != 16000 else samples
        energy = torch.tensor(samples[:2048]).square()
        return torch.nn.functional.pad(energy, (0, 2048 - len(energy)))


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--manifest", default="manifest.jsonl")
    parser.add_argument("--timeout", type=float, default=0)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"[%(asctime)s][%(processName)s][%(levelname)s][rank{rank}] %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    rows = Recordings(args.manifest, rank, world)
    logger.info("%d recordings, loader time limit %.0f s", len(rows), args.timeout)
    loader = DataLoader(rows, batch_size=4, num_workers=args.workers, timeout=args.timeout, prefetch_factor=2)
    model = DistributedDataParallel(torch.nn.Linear(2048, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for step, batch in enumerate(loader):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.info("step %d/%d loss %.5f", step + 1, len(loader), loss.item())
        time.sleep(0.25)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
