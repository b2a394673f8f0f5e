"""Trains on crops that worker processes fetch and keep, with the options of the DataLoader on the command line."""

from __future__ import annotations

import argparse
import io
import logging
import os
import time
import urllib.request
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, get_worker_info

log = logging.getLogger("loader")


class Crops(Dataset):
    """One item is one object; its bytes may be kept, and its crop may be large."""

    def __init__(self, args: argparse.Namespace, rank: int) -> None:
        self.args, self.rank = args, rank
        self.kept: list[Any] = []

    def __len__(self) -> int:
        return int(self.args.steps)

    def __getitem__(self, index: int) -> Any:
        url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/asr-train/features/part-{self.rank:02d}-{index:05d}.npy"
        started = time.perf_counter()
        with urllib.request.urlopen(url, timeout=60) as response:
            rows = np.load(io.BytesIO(response.read()))
        if (spent := time.perf_counter() - started) > 1:
            log.warning("slow read: %s took %.2f s", url.rpartition("/")[2], spent)
        if self.args.keep_mib:
            self.kept.append(np.ones((self.args.keep_mib, 1 << 20), dtype=np.uint8))
        if self.args.crop_mib:
            return torch.from_numpy(rows), torch.zeros(self.args.crop_mib, 1 << 18)
        return torch.from_numpy(rows), torch.zeros(1)


def pin_worker(worker_id: int) -> None:
    """Binds a worker to a processor and seeds its augmentation."""
    info = get_worker_info()
    assert info is not None
    cores = [int(one) for one in os.environ.get("LOADER_CORES", "0,1").split(",")]
    os.sched_setaffinity(0, {cores[worker_id % len(cores)]})
    np.random.seed(info.seed % 2**32)


def main() -> None:
    """Trains two epochs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=0)
    parser.add_argument("--keep-mib", type=int, default=0)
    parser.add_argument("--crop-mib", type=int, default=0)
    parser.add_argument("--pin", action="store_true")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s,%(process)d,{rank}/{world},%(levelname)s,%(message)s")
    loader = DataLoader(
        Crops(args, rank),
        batch_size=None,
        num_workers=args.workers,
        timeout=args.timeout,
        persistent_workers=True,
        worker_init_fn=pin_worker if args.pin else None,
    )
    for epoch in range(args.epochs):
        for step, (rows, crop) in enumerate(loader):
            total = rows.sum() + crop.sum()
            dist.all_reduce(total)
            log.info("epoch %d step %d total %.3f", epoch, step, total.item())
            time.sleep(0.15)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
