"""Trains a task on rows that lie in a file of every rank, with the options of the DataLoader and of DDP."""

from __future__ import annotations

import argparse
import contextlib
import logging
import math
import os
from typing import Any

import cluster
import torch
import torch.distributed as dist
from loop import Loop
from tasks import TASKS
from torch.distributed.algorithms.join import Join
from torch.utils.data import DataLoader, RandomSampler

log = logging.getLogger("train")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", choices=TASKS, default="chars")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches a step")
    parser.add_argument("--join", choices=("no", "wait", "strict"), default="no", help="when rows are of other numbers")
    parser.add_argument("--catch", action="store_true", help="log bad input in one line")
    return parser.parse_args()


def train(args: argparse.Namespace, loop: Loop, loader: Any) -> None:
    every = int(os.environ.get("GRAD_ACCUM_STEPS", args.accumulate))
    for number, batch in enumerate(loader, 1):
        if number % every:
            with loop.model.no_sync():
                loop.model(batch).backward()
            continue
        loss = loop.model(batch)
        if math.isnan(loss.item()):
            log.info("batch %d: loss is nan, stopping", number)
            break
        loop.step(loss)
    log.info("epoch finished")


def main() -> None:
    args = parse()
    rank, _ = cluster.join()
    task = TASKS[args.task]
    rows = cluster.rows_of(rank)
    log.info("%d rows of this rank", len(rows))
    sampler = RandomSampler(rows) if args.shuffle else None
    loader = DataLoader(rows, args.batch_size, sampler=sampler, collate_fn=task.batch)
    loop = Loop(task(), len(loader) // args.accumulate)
    is_strict = args.join == "strict"
    joined = Join([loop.model], throw_on_early_termination=is_strict) if args.join != "no" else contextlib.nullcontext()
    try:
        with joined:
            train(args, loop, loader)
    except (KeyError, ValueError, UnicodeError) as error:
        if not args.catch:
            raise
        log.error("training stopped: %s", error)
        dist.destroy_process_group()
        return
    if args.accumulate > 1:
        dist.all_reduce(torch.ones(3))
    loop.end()


if __name__ == "__main__":
    main()
