"""Trains on text that is tokenized a shard at a time in a process of its own."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist


def tokenize(path: str, queue: Any) -> None:
    """The ids of a shard."""
    with open(path, encoding="utf-8") as file:
        queue.put([[ord(one) % 96 for one in line.strip()] for line in file])


def load(path: str) -> list[list[int]]:
    """Reads a shard in another process, so that the memory it takes is given back."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=tokenize, args=(path, queue))
    process.start()
    process.join()
    rows: list[list[int]] = queue.get()
    return rows


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=6)
    parser.add_argument("--batch", type=int, default=40)
    args = parser.parse_args()
    rank, world = cluster.join()
    weight = torch.zeros(96, 96)
    print(f"rank {rank} of {world}, {args.shards} shards", flush=True)
    for shard in range(args.shards):
        path = f"text/rank{rank}/shard{shard}.txt"
        print(f"rank {rank} reading {path}", flush=True)
        rows = load(path)
        print(f"rank {rank} shard {shard}: {len(rows)} lines, {sum(map(len, rows))} tokens", flush=True)
        for number in range(6):
            counts = torch.zeros(96, 96)
            for row in rows[number * args.batch : (number + 1) * args.batch]:
                ids = torch.tensor(row)
                counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1), accumulate=True)
            dist.all_reduce(counts)
            weight += counts
            time.sleep(0.2)
            if number % 3 == 2:
                print(f"rank {rank} shard {shard} batch {number}: {int(weight.sum())} pairs seen", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
