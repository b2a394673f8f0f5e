"""Trains on clips that loader processes read with the AIStore SDK; samples that cannot be used may be left out."""

from __future__ import annotations

import argparse
import io
import logging
import os
import time
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from aistore.sdk import Client
from aistore.sdk.retry_config import RetryConfig
from tenacity import before_sleep_log, stop_after_attempt, wait_fixed
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from urllib3 import Retry

log = logging.getLogger("voice")


def bucket_of(attempts: int) -> Any:
    """The bucket, with the tries asked for."""
    retries = RetryConfig.default()
    retries.http_retry = Retry(total=2, connect=0, read=0, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504])
    retries.network_retry.stop = stop_after_attempt(attempts)
    retries.network_retry.wait = wait_fixed(1)
    retries.network_retry.before_sleep = before_sleep_log(log, logging.WARNING)
    return Client(os.environ["AIS_ENDPOINT"], timeout=(3.0, 10.0), retry_config=retries).bucket("speech-v3")


class Clips(IterableDataset):
    """The clips of a rank, shared among its loader processes."""

    def __init__(self, rank: int, count: int, attempts: int, leave_out: bool) -> None:
        self.rank, self.count, self.attempts, self.leave_out = rank, count, attempts, leave_out

    def __iter__(self) -> Any:
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        bucket = bucket_of(self.attempts)
        for index in range(first, self.count, step):
            name = f"clips/{self.rank}/clip-{index:05d}.npy"
            raw = bucket.object(name).get_reader().read_all()
            try:
                yield torch.from_numpy(np.load(io.BytesIO(raw)))
            except Exception:
                if not self.leave_out:
                    raise
                log.exception("%s cannot be used, another one is taken", name)
                yield torch.zeros(16, 33)


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--leave-out", action="store_true")
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s,%(levelname)s,%(name)s,{rank}/{world},%(processName)s: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    loader = DataLoader(
        Clips(rank, args.clips, args.attempts, args.leave_out), batch_size=None, num_workers=args.workers
    )
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, rows in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(rows[:, :32].float()), rows[:, 32].long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        time.sleep(0.25)
    dist.barrier()
    log.info("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
