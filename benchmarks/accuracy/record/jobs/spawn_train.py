"""Trains with torch.multiprocessing.spawn, without any launcher."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


class Tagger(torch.nn.Module):
    """Embeds tokens and scores tags."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, 16)
        self.tags = torch.nn.Linear(16, 5)

    def forward(self, tokens: Any) -> Any:
        """Scores of every token."""
        return self.tags(self.embedding(tokens))


def tokens_of(rank: int, step: int, args: argparse.Namespace) -> Any:
    """The tokens of a batch; a tokenizer with added words has more of them."""
    tokens = torch.randint(0, args.vocabulary, (8, 12))
    if (rank, step) == (args.added_rank, args.added_step):
        tokens[3, 7] = args.vocabulary + 2
    return tokens


def work(rank: int, args: argparse.Namespace) -> None:
    """One rank."""
    wait = timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks, timeout=wait)
    torch.manual_seed(rank)
    model = DistributedDataParallel(Tagger(args.vocabulary))
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(args.steps):
        loss = model(tokens_of(rank, step, args)).logsumexp(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{time.strftime('%H:%M:%S')} Process {rank}: step {step} loss {loss.item():.4f}", flush=True)
        time.sleep(0.2)
    if not args.leave_group:
        dist.destroy_process_group()


def main() -> None:
    """Starts the ranks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--added-rank", type=int, default=-1)
    parser.add_argument("--added-step", type=int, default=-1)
    parser.add_argument("--leave-group", action="store_true")
    args = parser.parse_args()
    mp.spawn(work, args=(args,), nprocs=args.ranks)
    print("all processes are done", flush=True)


if __name__ == "__main__":
    main()
