"""Trains with torch.multiprocessing.spawn, without any launcher."""

from __future__ import annotations

import argparse
import logging
import os
from typing import Any
from urllib.parse import urlsplit

import cluster
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from loop import Loop

CLASSES = 21


def mask_of(row: Any) -> Any:
    mask = torch.tensor(row["mask"])
    assert mask.ndim == 1 and int(mask.max()) < CLASSES, f"mask of {row['image']} has class {int(mask.max())}"
    return mask


def work(rank: int, args: argparse.Namespace) -> None:
    cluster.start_log(rank, args.ranks)
    logging.info("Running on rank %d of %d.", rank, args.ranks)
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks, timeout=cluster.wait())
    if args.masks:
        model: Any = torch.nn.Conv1d(3, CLASSES, 1)
    else:
        model = torch.nn.Sequential(torch.nn.Embedding(args.vocabulary, 16), torch.nn.Linear(16, 5))
    loop = Loop(model, args.steps)
    rows = cluster.rows_of(rank) if args.masks else []
    for step in range(args.steps):
        if args.masks:
            mask = mask_of(rows[step])
            loss = torch.nn.functional.cross_entropy(loop.model(torch.randn(1, 3, len(mask))), mask[None])
        else:
            tokens = torch.randint(0, args.vocabulary, (8, 12))
            tokens[3, 7] += args.vocabulary * (cluster.by_rank(args.added, rank) == str(step))
            loss = loop.model(tokens).logsumexp(-1).mean()
        loop.step(loss)
    if not args.leave_group:
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--added", default="", help="rank:step whose tokens have added words")
    parser.add_argument("--masks", action="store_true")
    parser.add_argument("--leave-group", action="store_true")
    parser.add_argument("--coordinator", default="", help="where rank 0 is to listen, when not as the environment says")
    args = parser.parse_args()
    if args.coordinator:
        place = urlsplit(args.coordinator)
        os.environ.update(MASTER_ADDR=str(place.hostname), MASTER_PORT=str(place.port))
    mp.spawn(work, args=(args,), nprocs=args.ranks)
    print("all processes are done", flush=True)


if __name__ == "__main__":
    main()
