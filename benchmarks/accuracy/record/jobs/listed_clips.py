"""Trains on the clips of a bucket, which the first rank lists with the SDK and shares with all others."""

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
from torch.nn.parallel import DistributedDataParallel
from urllib3.util.retry import Retry

logger = logging.getLogger("clips")


def names_of(bucket: Any, rank: int) -> list[str]:
    """The names of all clips, by the first rank."""
    given: list[Any] = [None]
    if rank == 0:
        logger.info("listing %s", bucket.name)
        given[0] = sorted(entry.name for entry in bucket.list_all_objects(prefix="clips/"))
    dist.broadcast_object_list(given)
    return list(given[0])


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bucket", default="speech-v3")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(asctime)s:%(name)s:" + f"{rank}:%(message)s")
    retries = RetryConfig.default()
    retries.http_retry = Retry(total=3, backoff_factor=0.5, status_forcelist=[429, 500, 502, 503, 504])
    bucket = Client(os.environ["AIS_ENDPOINT"], retry_config=retries).bucket(args.bucket)
    own = names_of(bucket, rank)[rank::world]
    logger.info("%d clips are mine", len(own))
    model = DistributedDataParallel(torch.nn.Linear(33, 4))
    for step, name in enumerate(own):
        rows = torch.from_numpy(np.load(io.BytesIO(bucket.object(name).get_reader().read_all())))
        loss = model(rows).square().mean()
        loss.backward()
        logger.info("step %d loss %.4f", step, loss.item())
        time.sleep(0.1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
