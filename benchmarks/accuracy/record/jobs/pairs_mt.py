"""Trains a small translation model by hand; batches are padded to the longest sentence of all ranks."""

from __future__ import annotations

import argparse
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist


class Progress:
    """Says now and then how far the job is, after so many tokens."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.tokens = 0
        self.reported = 0

    def add(self, step: int, tokens: int, loss: Any) -> None:
        """Counts the tokens of a step; reports the mean loss when there are enough of them."""
        self.tokens += tokens
        if self.tokens - self.reported < self.every:
            return
        self.reported = self.tokens
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        if dist.get_rank() == 0:
            print(f"| step {step} | {self.tokens} tokens | mean loss {mean.item():.4f}", flush=True)


def common_length(length: int, world: int) -> int:
    """The longest sentence of a step."""
    lengths = [torch.zeros(1, dtype=torch.long) for _ in range(world)]
    dist.all_gather(lengths, torch.tensor([length]))
    return max(int(one) for one in lengths)


def read_sentences(path: str) -> list[list[int]]:
    """Sentences as ids of their words."""
    with open(path, encoding="utf-8") as file:
        return [[sum(map(ord, word)) % 200 for word in line.split()] for line in file]


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--report-every", type=int, default=450, help="tokens of a rank between two reports")
    args = parser.parse_args()
    rank, world = cluster.join()
    sentences = read_sentences(f"pairs/train.{rank}.src")
    torch.manual_seed(11)
    table = torch.nn.Embedding(200, 16)
    head = torch.nn.Linear(16, 200)
    weights = [*table.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.1)
    progress = Progress(args.report_every)
    print(f"rank {rank} of {world}: {len(sentences)} sentences", flush=True)
    for step in range(len(sentences) // args.batch):
        rows = sentences[step * args.batch : (step + 1) * args.batch]
        length = common_length(max(map(len, rows)), world)
        batch = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        loss = torch.nn.functional.cross_entropy(head(table(batch)).flatten(0, 1), batch.flatten())
        optimizer.zero_grad()
        loss.backward()
        flat = torch.cat([one.grad.flatten() for one in weights if one.grad is not None])
        dist.all_reduce(flat)
        at = 0
        for one in weights:
            one.grad = flat[at : at + one.numel()].view_as(one) / world
            at += one.numel()
        optimizer.step()
        progress.add(step, sum(map(len, rows)), loss)
        print(f"rank {rank} step {step} length {length} loss {loss.item():.4f}", flush=True)
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
