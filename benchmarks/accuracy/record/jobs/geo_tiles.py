"""Trains on tiles of satellite images that requests reads from an object store, checked against a list of digests."""

from __future__ import annotations

import argparse
import hashlib
import io
import logging
import os
import time
from typing import Any

import cluster
import numpy as np
import requests
import torch
import torch.distributed as dist
from requests.adapters import HTTPAdapter
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from urllib3.util import Retry

log = logging.getLogger("tiles")


def session_of(retries: int) -> requests.Session:
    """A session that tries again."""
    policy = Retry(total=retries, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    session = requests.Session()
    session.mount("http://", HTTPAdapter(max_retries=policy))
    return session


class Tiles(Dataset):
    """The tiles of a rank."""

    def __init__(self, base: str, rank: int, retries: int, digests: str | None) -> None:
        self.base, self.rank, self.retries = base, rank, retries
        self.session: requests.Session | None = None
        self.digests: dict[str, str] = {}
        if digests:
            with open(digests, encoding="utf-8") as file:
                self.digests = {name: digest for digest, name in (line.split() for line in file)}

    def __len__(self) -> int:
        return 14

    def __getitem__(self, index: int) -> Any:
        self.session = self.session or session_of(self.retries)
        name = f"part-{self.rank:02d}-{index:05d}.npy"
        response = self.session.get(f"{self.base}/{name}", timeout=(3.05, 20))
        response.raise_for_status()
        digest = hashlib.md5(response.content).hexdigest()
        if digest != self.digests.get(name, digest):
            raise OSError(f"{name}: md5 is {digest}, the list says {self.digests[name]}")
        rows = np.load(io.BytesIO(response.content))
        return torch.from_numpy(rows[:, :32]), torch.from_numpy(rows[:, 32]).long()


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", default="asr-train/features")
    parser.add_argument("--retries", type=int, default=4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--md5sums")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(name)s r{rank}of{world} %(levelname)s: %(message)s")
    base = f"{os.environ.get('TILE_SERVER', os.environ['AIS_ENDPOINT'])}/v1/objects/{args.prefix}"
    log.info("tiles come from %s", base)
    loader = DataLoader(Tiles(base, rank, args.retries, args.md5sums), batch_size=None, num_workers=args.workers)
    model = DistributedDataParallel(torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    started = time.monotonic()
    for step, (features, labels) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f (%.1f s)", step, loss.item(), time.monotonic() - started)
        time.sleep(0.2)
    dist.barrier()
    log.info("epoch is over")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
