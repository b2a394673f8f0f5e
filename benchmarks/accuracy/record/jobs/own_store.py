"""Joins by an own TCP store at a fixed port, as scripts do that were written for `mp.spawn`."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    """Joins and adds up a tensor."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    where = f"tcp://127.0.0.1:{os.environ['OWN_PORT']}"
    print(f"{time.strftime('%F %T')} rank {rank}/{world} joins at {where}", flush=True)
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    dist.init_process_group("gloo", init_method=where, rank=rank, world_size=world, timeout=timedelta(seconds=20))
    for step in range(10):
        dist.all_reduce(torch.ones(10))
        print(f"{time.strftime('%F %T')} rank {rank} step {step}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
