"""Trains on feature files that a pool of threads fetches ahead with httpx; started as tasks of a batch system."""

from __future__ import annotations

import argparse
import io
import logging
import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import cluster
import httpx
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("features")


def fetch(client: httpx.Client, name: str) -> Any:
    """One feature file."""
    response = client.get(f"/v1/objects/asr-train/features/{name}")
    response.raise_for_status()
    return torch.from_numpy(np.load(io.BytesIO(response.content)))


def ahead(client: httpx.Client, names: list[str], depth: int) -> Iterator[Any]:
    """The files in their order, some of them fetched before they are wanted."""
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(depth, thread_name_prefix="fetch") as pool:
        for name in names:
            waiting.append(pool.submit(fetch, client, name))
            if len(waiting) >= depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=15)
    parser.add_argument("--follow", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s | %(levelname)-8s | %(name)s:%(funcName)s:%(lineno)d - [{rank}/{world}] %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    client = httpx.Client(
        base_url=os.environ["AIS_ENDPOINT"], timeout=args.timeout, follow_redirects=args.follow, trust_env=False
    )
    names = [f"part-{rank:02d}-{number:05d}.npy" for number in range(args.count)]
    model = DistributedDataParallel(torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, rows in enumerate(ahead(client, names, args.depth)):
        loss = torch.nn.functional.cross_entropy(model(rows[:, :32]), rows[:, 32].long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step=%d loss=%.4f", step, loss.item())
        time.sleep(0.3)
    dist.barrier()
    log.info("epoch finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
