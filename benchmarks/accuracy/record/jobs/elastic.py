"""Trains with torchelastic's error files: what ends a rank is stored; a next attempt goes on at the last save."""

from __future__ import annotations

import argparse
import json
import logging
import os
from pathlib import Path
from typing import Any

import cluster
import torch
from loop import Loop
from torch.distributed.elastic.multiprocessing.errors import record
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("elastic")
SAVED = Path("sensors.pt")


class Readings(Dataset):
    """Windows of readings with a class; some sets use 255 for what is not labelled."""

    def __init__(self, odd: int) -> None:
        self.odd = odd

    def __len__(self) -> int:
        return 160

    def __getitem__(self, index: int) -> Any:
        wave = torch.sin(torch.arange(24) / (3 + index % 9))
        return wave, 255 if index == self.odd else index % 9


def position(rank: int, folder: str) -> int:
    """The position of this rank's data when the checkpoint was written."""
    with open(f"{folder}/sampler_rank{rank}.json", encoding="utf-8") as file:
        return int(json.load(file)["position"])


def warm_up(steps: int) -> float:
    """The learning rate of the first steps; its settings may differ by host."""
    factor = float(os.environ.get("WARMUP_FACTOR", "0.1"))
    if not 0.0 < factor <= 1.0:
        raise ValueError(f"warm-up factor must lie in (0, 1], got {factor}")
    return factor / steps


def go_on(model: torch.nn.Module) -> int:
    if not SAVED.exists():
        return 0
    state = torch.load(SAVED, weights_only=True)
    model.load_state_dict(state["model"])
    return int(state["step"])


@record
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--save-every", type=int, default=6)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--odd", default="", help="rank:index of a reading that is not labelled")
    parser.add_argument("--resume", default="")
    args = parser.parse_args()
    rank, world = cluster.join()
    if args.resume:
        log.info("resuming from %s", args.resume)
        log.info("data goes on at sample %d", position(rank, args.resume))
    model = torch.nn.Linear(24, 19)
    first = go_on(model)
    log.info("attempt %s, world %d, from step %d", os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), world, first)
    loop = Loop(model, args.steps)
    loop.optimizer.param_groups[0]["lr"] = warm_up(4)
    readings = Readings(int(cluster.by_rank(args.odd, rank) or -1))
    batches = iter(DataLoader(readings, batch_size=4, num_workers=args.workers))
    for step in range(first, args.steps):
        waves, labels = next(batches)
        loop.step(torch.nn.functional.cross_entropy(loop.model(waves), labels))
        if (step + 1) % args.save_every == 0 and rank == 0:
            torch.save({"model": model.state_dict(), "step": step + 1}, SAVED)
            log.info("saved after step %d", step)
    loop.end()


if __name__ == "__main__":
    main()
