"""Trains on tables read by boto3 along a list of keys; embeddings are uploaded at the end of each part."""

from __future__ import annotations

import argparse
import io
import logging
import os
from datetime import timedelta
from typing import Any

import boto3
import cluster
import numpy as np
import torch
import torch.distributed as dist
from botocore.config import Config

logger = logging.getLogger("ctr")


def client_of(args: argparse.Namespace) -> Any:
    """An S3 client."""
    config = Config(
        connect_timeout=3,
        read_timeout=args.read_timeout,
        retries={"max_attempts": args.max_attempts, "mode": "standard"},
        s3={"addressing_style": "path"},
    )
    endpoint = os.environ.get("S3_URL", os.environ["AIS_ENDPOINT"] + "/s3")
    keys = {"aws_access_key_id": "ctr", "aws_secret_access_key": "ctr", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=endpoint, config=config, **keys)


def keys_of(rank: int, path: str | None) -> list[str]:
    """What this rank reads."""
    if path:
        with open(path.format(rank=rank), encoding="utf-8") as f:
            return f.read().split()
    return [f"day={rank:02d}/part-{part:04d}.npy" for part in range(12)]


def upload_embeddings(s3: Any, rank: int, part: int, table: Any) -> None:
    """Uploads the embeddings of this rank."""
    key = f"ctr-21/part{part:03d}/embedding_{rank}.bin"
    logger.info("uploading s3://embeddings/%s", key)
    s3.put_object(Bucket="embeddings", Key=key, Body=table.numpy().tobytes())


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys")
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--read-timeout", type=float, default=5)
    parser.add_argument("--max-attempts", type=int, default=3)
    parser.add_argument("--upload-every", type=int, default=0)
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s:%(levelname)s:rank{rank}:%(name)s:%(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    logging.getLogger("botocore").setLevel(logging.WARNING)
    s3, keys = client_of(args), keys_of(rank, args.keys)
    logger.info("%d keys, world size %d", len(keys), world)
    model = torch.nn.Sequential(torch.nn.Linear(args.features, 8), torch.nn.Linear(8, 1))
    for part, key in enumerate(keys):
        body = s3.get_object(Bucket="tabular", Key=key)["Body"].read()
        rows = torch.from_numpy(np.load(io.BytesIO(body))).float()
        loss = model(rows[:, :-1]).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data.sub_(parameter.grad, alpha=0.01 / world)
            parameter.grad = None
        logger.info("part %d loss %.5f", part, loss.item())
        if args.upload_every and part and part % args.upload_every == 0:
            upload_embeddings(s3, rank, part, torch.zeros(1024))
            dist.monitored_barrier(timeout=timedelta(seconds=12), wait_all_ranks=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
