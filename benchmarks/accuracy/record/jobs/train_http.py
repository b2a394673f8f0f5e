"""Trains a small classifier on feature files that are fetched over HTTP with requests."""

from __future__ import annotations

import argparse
import io
import json
import logging
from typing import Any

import cluster
import numpy as np
import requests
import torch
from requests.adapters import HTTPAdapter
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from urllib3.util.retry import Retry

log = logging.getLogger("train")


class FeatureFiles(Dataset):
    """One item is one object of the bucket: 16 rows of 33 numbers, the last one a label."""

    def __init__(self, args: argparse.Namespace, rank: int) -> None:
        self.args, self.rank = args, rank
        self._session: Any = None

    def __len__(self) -> int:
        return int(self.args.steps)

    def session(self) -> Any:
        """A session of this process, with the retries asked for."""
        if self._session is None:
            retry = Retry(
                total=self.args.retries, backoff_factor=self.args.backoff, status_forcelist=(429, 500, 502, 503, 504)
            )
            self._session = requests.Session()
            self._session.mount("http://", HTTPAdapter(max_retries=retry))
        return self._session

    def __getitem__(self, index: int) -> Any:
        name = f"features/part-{self.rank:02d}-{index:05d}.npy"
        url = f"{self.args.endpoint}/v1/objects/asr-train/{name}"
        response = self.session().get(url, timeout=self.args.timeout or None)
        response.raise_for_status()
        return torch.from_numpy(np.load(io.BytesIO(response.content)))


class Metrics:
    """Appends one JSON line a step; steps with an unusual gradient are written with their norm."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, step: int, loss: float, grad_norm: Any) -> None:
        """Writes one step."""
        row: dict[str, Any] = {"step": step, "loss": loss}
        if step and step % 9 == 0:
            row["grad_norm"] = grad_norm
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=0)
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--backoff", type=float, default=0.5)
    parser.add_argument("--metrics")
    return parser.parse_args()


def main() -> None:
    """Trains one epoch."""
    args = parse()
    rank, world = cluster.join()
    form = f"%(asctime)s %(levelname)s [rank {rank}] %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    log.info("joined, world size %d, reading %s", world, args.endpoint)
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(FeatureFiles(args, rank), batch_size=None, num_workers=args.workers)
    metrics = Metrics(args.metrics) if args.metrics and rank == 0 else None
    for step, rows in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(rows[:, :32]), rows[:, 32].long())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        log.info("step %d loss %.4f grad_norm %.3f", step, loss.item(), norm)
        if metrics is not None:
            metrics.write(step, loss.item(), norm)
    log.info("epoch done")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
