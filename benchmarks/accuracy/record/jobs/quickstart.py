"""A first try at distributed training: starts its processes as it goes."""

from __future__ import annotations

import multiprocessing as mp
import os

import torch
import torch.distributed as dist

WORLD = 2
mp.set_start_method("spawn", force=True)


def work(rank: int) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group("gloo")
    total = torch.full((4,), float(rank))
    for step in range(5):
        dist.all_reduce(total)
        print(f"rank {rank} step {step}: {total.tolist()}", flush=True)
    dist.destroy_process_group()


print("starting workers", flush=True)
processes = [mp.Process(target=work, args=(rank,)) for rank in range(WORLD)]
for process in processes:
    process.start()
for process in processes:
    process.join()
if any(process.exitcode for process in processes):
    raise SystemExit("training failed")
print("finished", flush=True)
