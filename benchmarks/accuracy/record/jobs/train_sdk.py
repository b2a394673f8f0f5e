"""Trains on objects read through the AIStore SDK, by a manifest per rank."""

from __future__ import annotations

import argparse
import io
import os
import time
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from aistore.sdk import Client
from aistore.sdk.retry_config import RetryConfig
from tenacity import stop_after_attempt
from torch.nn.parallel import DistributedDataParallel
from urllib3 import Retry


def client_of(args: argparse.Namespace) -> Any:
    """A client with the retries asked for."""
    retries = RetryConfig.default()
    retries.http_retry = Retry(total=args.http_retries, backoff_factor=0.5, status_forcelist=[429, 500, 502, 503, 504])
    retries.http_retry.connect = retries.http_retry.read = 0
    retries.network_retry.stop = stop_after_attempt(args.attempts)
    return Client(os.environ["AIS_ENDPOINT"], timeout=(3.0, args.read_timeout), retry_config=retries)


def read_rows(client: Any, name: str) -> Any:
    """The rows of one object."""
    raw = client.bucket("speech-v3").object(name).get_reader().read_all()
    return torch.from_numpy(np.load(io.BytesIO(raw)))


def main() -> None:
    """Trains over the manifest once; with --share the first rank reads for all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--manifest", default="manifests/train.{rank}.txt")
    parser.add_argument("--read-timeout", type=float, default=5.0)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--http-retries", type=int, default=3)
    parser.add_argument("--share", action="store_true")
    args = parser.parse_args()
    rank, world = cluster.join()
    with open(args.manifest.format(rank=rank), encoding="utf-8") as file:
        names = file.read().split()
    client = client_of(args)
    model = DistributedDataParallel(torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    print(f"[{rank}/{world}] manifest has {len(names)} objects", flush=True)
    started = time.time()
    for step, name in enumerate(names):
        rows = torch.zeros(16, 33)
        if rank == 0 or not args.share:
            rows = read_rows(client, name).float()
        if args.share:
            dist.broadcast(rows, 0)
        loss = torch.nn.functional.cross_entropy(model(rows[:, :32]), rows[:, 32].long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"[{rank}/{world}] | it {step:4d} | loss {loss.item():6.3f} | {time.time() - started:7.1f} s", flush=True)
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
