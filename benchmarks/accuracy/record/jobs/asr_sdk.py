"""Trains on clips that loader processes read through the AIStore SDK; every line is a JSON object."""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import time
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from aistore.sdk import Client
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("asr")


class JsonLines(logging.Formatter):
    """A record as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback is a field."""
        row = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname,
            "rank": int(os.environ["RANK"]),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            row["exc_info"] = self.formatException(record.exc_info)
        return json.dumps(row)


class Clips(Dataset):
    """Clips of this rank; a read that fails may be tried again."""

    def __init__(self, rank: int, args: argparse.Namespace) -> None:
        self.rank, self.args = rank, args
        self._bucket: Any = None

    def __len__(self) -> int:
        return int(self.args.clips)

    def bucket(self) -> Any:
        """The bucket, with a client of this process."""
        if self._bucket is None:
            endpoint = os.environ.get("STORE_URL", os.environ["AIS_ENDPOINT"])
            timeout = (3, self.args.read_timeout) if self.args.read_timeout else None
            self._bucket = Client(endpoint, timeout=timeout).bucket("speech-v3")
        return self._bucket

    def __getitem__(self, index: int) -> Any:
        name = f"clips/{self.rank}/clip-{index:05d}.npy"
        for attempt in range(1 + self.args.tries):
            try:
                raw = self.bucket().object(name).get_reader().read_all()
                break
            except Exception:
                if attempt >= self.args.tries:
                    raise
                log.exception("reading %s failed, attempt %d", name, attempt + 1)
                time.sleep(0.3)
        return torch.from_numpy(np.load(io.BytesIO(raw))).float()


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--tries", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--read-timeout", type=float, default=5.0)
    parser.add_argument("--hours", default=os.environ.get("MAX_HOURS", "1000"))
    args = parser.parse_args()
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    rank, world = cluster.join()
    log.info("rank %d of %d, at most %s hours", rank, world, args.hours)
    model = torch.nn.Linear(32, 10)
    spoken = 0.0
    for step, rows in enumerate(DataLoader(Clips(rank, args), batch_size=None, num_workers=args.workers)):
        loss = torch.nn.functional.cross_entropy(model(rows[:, :32]), rows[:, 32].long())
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data -= 0.01 / world * parameter.grad
            parameter.grad = None
        spoken += rows.shape[0]
        log.info("step %d loss %.4f", step, loss.item())
        if step and step % 8 == 0:
            log.info("%.1f%% of the hours heard", 100 * spoken / int(args.hours))
        time.sleep(0.15)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
