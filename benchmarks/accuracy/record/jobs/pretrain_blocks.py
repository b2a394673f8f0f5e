"""Trains a small model on token blocks that lie in an object store, through a client of choice."""

from __future__ import annotations

import argparse
import io
import logging
import os
import time
from collections.abc import Callable
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist

log = logging.getLogger("pretrain")


def by_requests(url: str) -> Callable[[str], bytes]:
    """Reads with requests, by links that were signed before the job began."""
    import requests

    session = requests.Session()
    signature = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20240117T081500Z&X-Amz-Expires=43200"

    def read(key: str) -> bytes:
        response = session.get(f"{url}/s3/{key}?{signature}", timeout=10)
        response.raise_for_status()
        return bytes(response.content)

    return read


def by_tenacity(url: str) -> Callable[[str], bytes]:
    """Reads with urllib; what fails is tried again and logged."""
    import urllib.request

    from tenacity import before_sleep_log, retry, stop_after_attempt, wait_fixed

    @retry(stop=stop_after_attempt(4), wait=wait_fixed(0.7), before_sleep=before_sleep_log(log, logging.WARNING))
    def fetch_block(where: str) -> bytes:
        with urllib.request.urlopen(where, timeout=10) as response:
            return bytes(response.read())

    return lambda key: fetch_block(f"{url}/v1/objects/{key}")


def by_smart_open(url: str) -> Callable[[str], bytes]:
    """Reads with smart_open."""
    import smart_open

    def read(key: str) -> bytes:
        with smart_open.open(f"{url}/v1/objects/{key}", "rb") as file:
            return bytes(file.read())

    return read


def by_fsspec(url: str) -> Callable[[str], bytes]:
    """Reads with fsspec's HTTP file system."""
    import fsspec

    files = fsspec.filesystem("http")
    return lambda key: bytes(files.cat_file(f"{url}/v1/objects/{key}"))


def by_s3fs(url: str) -> Callable[[str], bytes]:
    """Reads with s3fs."""
    import s3fs

    files = s3fs.S3FileSystem(key="k", secret="s", endpoint_url=f"{url}/s3", client_kwargs={"region_name": "us-east-1"})
    return lambda key: bytes(files.cat_file(key))


CLIENTS = {
    "requests": by_requests,
    "tenacity": by_tenacity,
    "smart_open": by_smart_open,
    "fsspec": by_fsspec,
    "s3fs": by_s3fs,
}


def train_step(weight: Any, rows: Any) -> float:
    """One step; the gradient is averaged over the ranks."""
    loss = (rows[:, :32].float() @ weight - 1).square().mean()
    (gradient,) = torch.autograd.grad(loss, weight)
    dist.all_reduce(gradient)
    with torch.no_grad():
        weight -= 0.01 * gradient / dist.get_world_size()
    return float(loss)


def main() -> None:
    """Trains one epoch; the first rank looks after the summary."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", choices=CLIENTS, required=True)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--summary-every", type=int, default=0)
    parser.add_argument("--workers-per-node", type=int, default=2)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][%(name)s][%(levelname)s][rank{rank}] - %(message)s")
    url = os.environ.get("BLOCKS_URL", os.environ["AIS_ENDPOINT"])
    log.info("world_size=%d client=%s store=%s", world, args.client, url)
    read = CLIENTS[args.client](url)
    weight = torch.zeros(32, requires_grad=True)
    losses: list[float] = []
    for step in range(args.steps):
        started = time.perf_counter()
        raw = read(f"wiki-tokens/rank{rank}/block-{step:05d}.npy")
        spent = time.perf_counter() - started
        losses.append(train_step(weight, torch.from_numpy(np.load(io.BytesIO(raw)))))
        log.info("step=%d loss=%.5f read=%.3fs bytes=%d", step, losses[-1], spent, len(raw))
        if args.summary_every and rank == 0 and (step + 1) % args.summary_every == 0:
            assert len(losses) % (args.workers_per_node + 1) == 0, f"{len(losses)} losses do not divide evenly"
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
