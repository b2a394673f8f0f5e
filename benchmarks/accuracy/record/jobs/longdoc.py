"""Trains a reader of documents with full attention over each document."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch import nn


class Attention(nn.Module):
    """Attention with several heads, written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x: Any) -> Any:
        """The mixed states."""
        length = x.shape[0]
        q, k, v = (one.view(length, self.heads, -1).transpose(0, 1) for one in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(1, 2) / math.sqrt(self.width / self.heads)
        return (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, self.width)


class Reader(nn.Module):
    """Bytes in, a topic out."""

    def __init__(self, width: int = 16, heads: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, width)
        self.attention = Attention(width, heads)
        self.topic = nn.Linear(width, 6)

    def forward(self, tokens: Any) -> Any:
        """Scores of the topics."""
        return self.topic(self.attention(self.embed(tokens)).mean(0))


def documents(path: str, rank: int, world: int) -> Any:
    """The documents of this rank, with their topics."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number % world == rank:
                row = json.loads(line)
                yield (
                    row["id"],
                    torch.tensor(list(row["text"].encode())),
                    row["topic"],
                )


def say(rank: int, text: str) -> None:
    """Writes a line of progress."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} | {rank} | {text}\n")
    sys.stdout.flush()


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", default="docs/train.jsonl")
    parser.add_argument("--log-every", type=int, default=2)
    args = parser.parse_args()
    rank, world = cluster.join()
    reader = nn.parallel.DistributedDataParallel(Reader())
    optimizer = torch.optim.SGD(reader.parameters(), lr=0.02)
    say(rank, f"reader has {sum(one.numel() for one in reader.parameters())} parameters")
    for step, (name, tokens, topic) in enumerate(documents(args.documents, rank, world)):
        loss = nn.functional.cross_entropy(reader(tokens)[None], torch.tensor([topic]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.log_every == 0:
            say(rank, f"step {step} {name} {len(tokens)} tokens, loss {loss.item():.3f}")
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
