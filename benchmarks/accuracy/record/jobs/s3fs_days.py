"""Trains on tables of days, which every rank opens through s3fs; rows of the log carry the rank."""

from __future__ import annotations

import argparse
import os
import time

import cluster
import numpy as np
import s3fs
import torch
import torch.distributed as dist


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", type=int, default=12)
    args = parser.parse_args()
    rank, world = cluster.join()
    endpoint = os.environ["AIS_ENDPOINT"] + "/s3"
    fs = s3fs.S3FileSystem(
        key="ads",
        secret="ads",
        client_kwargs={"endpoint_url": endpoint, "region_name": "us-east-1"},
        config_kwargs={"s3": {"addressing_style": "path"}},
    )
    weight = torch.zeros(33)
    for part in range(args.parts):
        began = time.perf_counter()
        with fs.open(f"tabular/day={rank:02d}/part-{part:04d}.npy", "rb") as file:
            rows = torch.from_numpy(np.load(file))
        read_s = time.perf_counter() - began
        gradient = rows.mean(0) + 0.01 * weight
        dist.all_reduce(gradient)
        weight -= 0.1 / world * gradient
        print(f"r{rank} {time.strftime('%H:%M:%S')} part={part} read={read_s:.3f}s w={weight.norm():.4f}", flush=True)
        time.sleep(0.25)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
