"""Trains on objects read by boto3 from an S3 endpoint and uploads a checkpoint there."""

from __future__ import annotations

import argparse
import io
import logging
from typing import Any

import boto3
import cluster
import numpy as np
import torch
import torch.distributed as dist
from botocore.config import Config

logger = logging.getLogger(__name__)


def s3_of(endpoint: str) -> Any:
    """A client with short time-outs and two attempts."""
    config = Config(connect_timeout=3, read_timeout=4, retries={"max_attempts": 2}, s3={"addressing_style": "path"})
    keys = {"aws_access_key_id": "trainer", "aws_secret_access_key": "trainer", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=endpoint + "/s3", config=config, **keys)


def upload(s3: Any, model: Any, step: int) -> None:
    """Stores the weights as an object."""
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    logger.info("uploading checkpoint step_%05d.pt (%d bytes)", step, buffer.tell())
    s3.put_object(Bucket="checkpoints", Key=f"run-17/step_{step:05d}.pt", Body=buffer.getvalue())


def main() -> None:
    """Trains and uploads every few steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--upload-every", type=int, default=0)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(
        level=logging.INFO, format=f"[%(asctime)s][%(name)s][%(levelname)s] - (rank {rank}) %(message)s"
    )
    logging.getLogger("botocore").setLevel(logging.WARNING)
    s3 = s3_of(args.endpoint)
    model = torch.nn.Linear(32, 1)
    for step in range(args.steps):
        body = s3.get_object(Bucket="tabular", Key=f"day={rank:02d}/part-{step:04d}.npy")["Body"].read()
        rows = torch.from_numpy(np.load(io.BytesIO(body))).float()
        loss = model(rows[:, :32]).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data.sub_(parameter.grad, alpha=0.01 / world)
            parameter.grad = None
        logger.info("step=%d loss=%.5f", step, loss.item())
        if args.upload_every and step and step % args.upload_every == 0 and rank == 0:
            upload(s3, model, step)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
