"""Trains on samples that a native decoder prepares, in the rank itself or in data loading processes."""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import sys
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

libc = ctypes.CDLL(None)


def native_length(address: int) -> int:
    """The length of a decoded string at an address the decoder gave."""
    return int(libc.strlen(ctypes.c_void_p(address)))


def release(buffer: Any, shift: int) -> None:
    """Gives a decoder's buffer back."""
    libc.free(ctypes.c_void_p(buffer + shift))


class Decoded(Dataset):
    """Random samples of which a few cannot be decoded."""

    def __init__(self, rank: int, bad: dict[tuple[int, int], str]) -> None:
        self.rank, self.bad = rank, bad
        libc.malloc.restype = ctypes.c_void_p

    def __len__(self) -> int:
        return 160

    def __getitem__(self, index: int) -> Any:
        state = self.bad.get((self.rank, index), "")
        if state == "pointer":
            native_length(0x10)
        release(libc.malloc(64), 8 if state == "buffer" else 0)
        if state == "transcript":
            raise KeyError("text")
        return torch.randn(3, 31 if state == "short" else 32)


def bad_samples(text: str) -> dict[tuple[int, int], str]:
    """`rank:index:what` triples."""
    parts = [one.split(":") for one in text.split(",") if one]
    return {(int(rank), int(index)): what for rank, index, what in parts}


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--bad", default="")
    parser.add_argument("--files-per-step", type=int, default=0)
    parser.add_argument("--cache-mib-per-step", type=int, default=0)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(
        level=logging.INFO, stream=sys.stdout, format=f"%(asctime)s.%(msecs)03d R{rank} %(message)s", datefmt="%H:%M:%S"
    )
    logging.info("start rank=%d world=%d pid=%d", rank, world, os.getpid())
    loader = DataLoader(Decoded(rank, bad_samples(args.bad)), batch_size=8, num_workers=args.workers)
    opened, cache = [], []
    for step, rows in enumerate(loader):
        opened += [os.open(os.devnull, os.O_RDONLY) for _ in range(args.files_per_step)]
        if args.cache_mib_per_step:
            cache.append(torch.ones(args.cache_mib_per_step, 1024, 256))
        total = rows.sum((0, 2))
        dist.all_reduce(total)
        logging.info("step %03d sum %.3f cached %d", step, total[0].item(), len(cache))
        time.sleep(0.1)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
