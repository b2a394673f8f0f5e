"""Trains with a vocabulary that grows in a manager process of each rank; batches look words up there."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("lm")


def ids_of(words: list[str], vocabulary: Any) -> Any:
    """The ids of words; new words get new ids as long as there is room."""
    ids = []
    for word in words:
        if word not in vocabulary and len(vocabulary) < 512:
            vocabulary[word] = len(vocabulary)
        ids.append(vocabulary.get(word, 0))
    return torch.tensor(ids)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(process)d %(name)s] %(message)s")
    manager = multiprocessing.Manager()
    vocabulary = manager.dict({"<unk>": 0})
    log.info("rank %d of %d, vocabulary served from %s", rank, world, type(manager).__name__)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(512, 16), torch.nn.Linear(16, 512)))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    chance = random.Random(rank)
    for step in range(args.steps):
        words = [f"w{int(chance.paretovariate(0.7))}" for _ in range(33)]
        ids = ids_of(words, vocabulary)
        loss = torch.nn.functional.cross_entropy(model(ids[:-1]), ids[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            log.info("rank %d step %d ppl %.1f vocabulary %d", rank, step, loss.exp().item(), len(vocabulary))
        time.sleep(0.15)
    dist.barrier()
    log.info("rank %d done", rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
