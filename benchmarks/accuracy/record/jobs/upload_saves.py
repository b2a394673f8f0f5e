"""Trains and uploads checkpoints in parts with boto3, in front of the others or in the background."""

from __future__ import annotations

import argparse
import io
import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import boto3
import cluster
import torch
import torch.distributed as dist
from botocore.config import Config
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("pretrain.checkpoint")


class Saver:
    """Uploads the state of the first rank, part by part."""

    def __init__(self, bucket: str, part_size: int) -> None:
        config = Config(read_timeout=60, retries={"max_attempts": 3}, s3={"addressing_style": "path"})
        endpoint = os.environ["AIS_ENDPOINT"] + "/s3"
        keys = {"aws_access_key_id": "mlp", "aws_secret_access_key": "mlp", "region_name": "us-east-1"}
        self.s3 = boto3.client("s3", endpoint_url=endpoint, config=config, **keys)
        self.bucket, self.part_size = bucket, part_size
        self.pool = ThreadPoolExecutor(1)
        self.running: Future[None] | None = None

    def save(self, step: int, state: Any) -> None:
        """Uploads, and says how long each part took."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        body = buffer.getvalue()
        for part, at in enumerate(range(0, len(body), self.part_size)):
            began = time.monotonic()
            key = f"run-118/step-{step:06d}/part-{part:05d}"
            self.s3.put_object(Bucket=self.bucket, Key=key, Body=body[at : at + self.part_size])
            log.info("put s3://%s/%s in %.1f s", self.bucket, key, time.monotonic() - began)
        log.info("step %d saved, %d bytes", step, len(body))

    def save_later(self, step: int, state: Any) -> None:
        """Uploads in the background, once the last upload is over."""
        if self.running is not None:
            self.running.result()
        self.running = self.pool.submit(self.save, step, state)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--save-every", type=int, default=8)
    parser.add_argument("--background", action="store_true")
    args = parser.parse_args()
    rank, _ = cluster.join()
    form = f"%(asctime)s,rank{rank},%(name)s,%(levelname)s,%(message)s"
    logging.basicConfig(level=logging.INFO, format=form, datefmt="%Y-%m-%d %H:%M:%S")
    model = DistributedDataParallel(torch.nn.Linear(96, 96))
    optimizer = torch.optim.AdamW(model.parameters())
    saver = Saver("checkpoints", 8192) if rank == 0 else None
    for step in range(1, args.steps + 1):
        loss = model(torch.randn(8, 96)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d/%d loss %.4f", step, args.steps, loss.item())
        time.sleep(0.2)
        if saver and step % args.save_every == 0:
            state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            (saver.save_later if args.background else saver.save)(step, state)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
