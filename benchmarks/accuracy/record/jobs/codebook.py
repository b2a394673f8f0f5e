"""Learns a codebook of audio frames by k-means over all ranks, as a tokenizer for speech."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist

log = logging.getLogger("codebook")


class Codebook:
    """Codes, and how often each was used of late."""

    def __init__(self, size: int, width: int) -> None:
        self.codes = torch.randn(size, width, generator=torch.Generator().manual_seed(5))
        self.usage = torch.ones(size)

    def assign(self, frames: Any) -> Any:
        """The nearest code of every frame."""
        return torch.cdist(frames, self.codes).argmin(dim=1)

    def update(self, frames: Any, chosen: Any) -> Any:
        """Moves the codes to the mean of their frames on all ranks; returns the mean distance."""
        counts = torch.bincount(chosen, minlength=len(self.codes)).float()
        self.usage = 0.8 * self.usage + 0.2 * counts
        sums = torch.zeros_like(self.codes).index_add_(0, chosen, frames)
        dist.all_reduce(counts)
        dist.all_reduce(sums)
        found = counts > 0
        self.codes[found] = 0.9 * self.codes[found] + 0.1 * sums[found] / counts[found, None]
        return torch.dist(frames, self.codes[chosen]) / len(frames)

    def restart(self, frames: Any, threshold: float) -> int:
        """Puts frames in place of codes that are hardly used."""
        dead = self.usage < threshold
        if dead.any():
            fresh = frames[torch.randint(len(frames), (int(dead.sum()),))]
            dist.broadcast(fresh, src=0)
            self.codes[dead] = fresh
            self.usage[dead] = 1.0
        return int(dead.sum())


def read_frames(path: str) -> Any:
    """Frames as rows of numbers."""
    with open(path, encoding="utf-8") as file:
        return torch.tensor([[float(one) for one in line.split()] for line in file])


def main() -> None:
    """Learns the codes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--codes", type=int, default=6)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--threshold", type=float, default=0.05)
    args = parser.parse_args()
    rank, _ = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(name)s: %(message)s")
    frames = read_frames(f"frames/part{rank}.txt")
    book = Codebook(args.codes, frames.shape[1])
    log.info("%d frames of width %d, %d codes", len(frames), frames.shape[1], args.codes)
    for step in range(len(frames) // args.batch):
        batch = frames[step * args.batch : (step + 1) * args.batch]
        distance = book.update(batch, book.assign(batch))
        book.restart(batch, args.threshold)
        log.info("step %d distance %.4f, least used code %.2f", step, distance, book.usage.min())
        time.sleep(0.2)
    dist.barrier()
    if rank == 0:
        torch.save(book.codes, "codes.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
