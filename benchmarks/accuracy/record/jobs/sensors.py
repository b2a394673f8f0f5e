"""Trains on readings of sensors with loader processes; may be started again, and then goes on at its last save."""

from __future__ import annotations

import argparse
import logging
import os
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("sensors")
SAVED = Path("sensors.pt")


class Readings(Dataset):
    """Windows of readings."""

    def __len__(self) -> int:
        return 160

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02)
        wave = torch.sin(torch.arange(48) / (3 + index % 9))
        return wave[:40], wave[40:]


def start_step(model: torch.nn.Module) -> int:
    """Where to go on."""
    if not SAVED.exists():
        return 0
    state = torch.load(SAVED, weights_only=True)
    model.load_state_dict(state["model"])
    return int(state["step"])


@record
def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--save-every", type=int, default=6)
    args = parser.parse_args()
    rank, world = cluster.join()
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    form = f"%(asctime)s|{rank}|%(levelname)s|%(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    plain = torch.nn.Linear(40, 8)
    first = start_step(plain)
    model = torch.nn.parallel.DistributedDataParallel(plain)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    log.info("start %s, world %d, from step %d", attempt, world, first)
    readings = iter(DataLoader(Readings(), batch_size=4, num_workers=1, shuffle=True))
    for step in range(first, args.steps):
        past, future = next(readings)
        loss = (model(past) - future).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d mse %.4f", step, loss.item())
        if (step + 1) % args.save_every == 0 and rank == 0:
            torch.save({"model": plain.state_dict(), "step": step + 1}, SAVED)
            log.info("saved after step %d", step)
        time.sleep(0.25)
    dist.barrier()
    log.info("training is complete")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
