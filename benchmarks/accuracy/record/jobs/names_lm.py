"""Trains a language model of names with DDP; words that are rare in the corpus are left out."""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections import Counter
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("names")


def vocabulary(text: str, least: int) -> dict[str, int]:
    """Ids of the words that come often enough."""
    counts = Counter(text.split())
    return {word: number for number, word in enumerate(sorted(w for w, n in counts.items() if n >= least), 1)}


class Recurrent(torch.nn.Module):
    """Predicts the next word."""

    def __init__(self, size: int, width: int = 24) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(size, width)
        self.rnn = torch.nn.GRU(width, width, batch_first=True)
        self.out = torch.nn.Linear(width, size)

    def forward(self, ids: Any) -> Any:
        """The loss."""
        hidden, _ = self.rnn(self.words(ids[:, :-1]))
        return torch.nn.functional.cross_entropy(self.out(hidden).flatten(0, 1), ids[:, 1:].flatten())


def train(args: argparse.Namespace, rank: int) -> None:
    """Trains for some steps."""
    path = os.path.join(os.environ.get("NAMES_CORPUS", "corpus"), "names.txt")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ids = vocabulary(text, args.least)
    log.info("%s: %d words, vocabulary of %d", path, len(text.split()), len(ids) + 1)
    words = torch.tensor([ids.get(word, 0) for word in text.split()])
    model = DDP(Recurrent(len(ids) + 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    chance = torch.Generator().manual_seed(rank)
    for step in range(args.steps):
        starts = torch.randint(0, len(words) - 17, (8,), generator=chance)
        loss = model(torch.stack([words[at : at + 17] for at in starts.tolist()]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step=%d loss=%.4f", step, loss.item())
        time.sleep(0.2)
    dist.barrier()
    log.info("done")


def main() -> None:
    """Trains, and logs what goes wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--least", type=int, default=2)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s|{rank}/{world}|%(levelname)s|%(message)s")
    try:
        train(args, rank)
    except Exception:
        log.exception("giving up")
        raise
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
