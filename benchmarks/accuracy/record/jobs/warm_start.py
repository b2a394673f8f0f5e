"""Fine-tunes from weights that the first rank downloads with boto3 and broadcasts to all."""

from __future__ import annotations

import argparse
import io
import os
import time
from typing import Any

import boto3
import cluster
import numpy as np
import torch
import torch.distributed as dist
from botocore.config import Config


def download(bucket: str, key: str, path: str) -> None:
    """Fetches an object to a file."""
    config = Config(retries={"max_attempts": 3, "mode": "standard"}, s3={"addressing_style": "path"})
    keys = {"aws_access_key_id": "tune", "aws_secret_access_key": "tune", "region_name": "us-east-1"}
    s3 = boto3.client("s3", endpoint_url=os.environ["AIS_ENDPOINT"] + "/s3", config=config, **keys)
    s3.download_file(bucket, key, path)


def start_weights(args: argparse.Namespace, rank: int) -> Any:
    """The weights to start from, on all ranks."""
    weights = torch.zeros(16, 33)
    if rank == 0:
        print(f"[rank 0] downloading s3://{args.bucket}/{args.start_from}", flush=True)
        download(args.bucket, args.start_from, "start.npy")
        with open("start.npy", "rb") as file:
            weights = torch.from_numpy(np.load(io.BytesIO(file.read()))).float()
    dist.broadcast(weights, 0)
    return weights


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bucket", default="speech-v3")
    parser.add_argument("--start-from", required=True)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    rank, world = cluster.join()
    print(f"[rank {rank}] world size {world}, pid {os.getpid()}", flush=True)
    weights = torch.nn.Parameter(start_weights(args, rank))
    for step in range(args.steps):
        loss = (torch.randn(8, 16) @ weights).square().mean()
        loss.backward()
        dist.all_reduce(weights.grad)
        with torch.no_grad():
            weights -= 0.01 / world * weights.grad
        weights.grad = None
        print(f"[rank {rank}] step {step} loss {loss.item():.4f}", flush=True)
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
