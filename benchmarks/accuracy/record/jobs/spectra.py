"""Trains on spectra with DDP and keeps the hardest of them for the next epoch."""

from __future__ import annotations

import argparse
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("spectra")


class HardSamples:
    """Samples with a high loss; another thread may read them while training goes on."""

    def __init__(self, path: Path, capacity: int) -> None:
        self.path = path
        self.capacity = capacity
        self.lock = threading.Lock()
        self.kept: list[tuple[int, float]] = []

    def add(self, step: int, loss: float) -> None:
        """Keeps a sample."""
        with self.lock:
            self.kept.append((step, loss))
            if len(self.kept) >= self.capacity:
                self.flush()

    def flush(self) -> None:
        """Writes what was kept, and forgets it."""
        with self.lock:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(one) + "\n" for one in self.kept)
            self.kept.clear()

    def show(self) -> None:
        """Says now and then how many there are."""
        while True:
            time.sleep(5)
            with self.lock:
                log.info("%d hard samples kept", len(self.kept))


def read_spectra(path: str) -> tuple[Any, Any]:
    """Spectra and their concentrations."""
    with open(path, encoding="utf-8") as file:
        rows = torch.tensor([[float(one) for one in line.split()] for line in file])
    return rows[:, 1:], rows[:, :1]


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--hard", type=float, default=9.0, help="loss from which on a sample is kept")
    parser.add_argument("--capacity", type=int, default=8)
    args = parser.parse_args()
    rank, _ = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{rank}] %(levelname)s %(name)s: %(message)s")
    spectra, amounts = read_spectra(f"spectra/{rank}.txt")
    hard = HardSamples(Path(f"hard-{rank}.jsonl"), args.capacity)
    threading.Thread(target=hard.show, name="hard-samples", daemon=True).start()
    model = DDP(torch.nn.Sequential(torch.nn.Linear(spectra.shape[1], 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    log.info("%d spectra", len(spectra))
    for step in range(args.steps):
        at = step * 4 % (len(spectra) - 4)
        loss = (model(spectra[at : at + 4]) - amounts[at : at + 4]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.3f", step, loss.item())
        if loss.item() > args.hard:
            hard.add(step, loss.item())
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
