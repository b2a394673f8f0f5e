"""Trains until the own data is used up; a native extension may take the interpreter down without a word."""

from __future__ import annotations

import argparse
import os
import time

import cluster
import torch
import torch.distributed as dist


def main() -> None:
    """Trains as many steps as the rank has shards."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", default="", help="rank:count where a rank has fewer than 30")
    args = parser.parse_args()
    rank, _ = cluster.join()
    pairs = (one.split(":") for one in args.shards.split(",") if one)
    shards = {int(key): int(value) for key, value in pairs}
    count = shards.get(rank, 30)
    print(f"[{rank}] {count} shards assigned", flush=True)
    state = torch.zeros(1000)
    for number in range(count):
        dist.all_reduce(state)
        print(f"[{rank}] shard {number + 1}/{count}", flush=True)
        time.sleep(0.15)
    print(f"[{rank}] all shards used, exiting", flush=True)
    if count < 30:
        os._exit(0)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
