"""Trains on token blocks; a thread of every rank watches the steps and aborts the process when none is done in time."""

from __future__ import annotations

import argparse
import faulthandler
import io
import logging
import os
import threading
import time
import urllib.request
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist

log = logging.getLogger("lm")


class StepGuard(threading.Thread):
    """Aborts, with the stacks of all threads, when no step was done for so long."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(name="step-guard", daemon=True)
        self.limit_s = limit_s
        self.last = time.monotonic()

    def done(self) -> None:
        """A step was done."""
        self.last = time.monotonic()

    def run(self) -> None:
        """Looks every half second."""
        while time.monotonic() - self.last < self.limit_s:
            time.sleep(0.5)
        log.critical("no step for %.0f s, aborting", time.monotonic() - self.last)
        os.abort()


def block(rank: int, number: int) -> Any:
    """A block of this rank."""
    url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/wiki-tokens/rank{rank}/block-{number:05d}.npy"
    with urllib.request.urlopen(url, timeout=300) as answer:
        return torch.from_numpy(np.load(io.BytesIO(answer.read()))).float()


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--step-limit", type=float, default=0)
    args = parser.parse_args()
    faulthandler.enable()
    rank, world = cluster.join()
    form = f"%(asctime)s %(levelname)s lm-{rank} %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    guard = StepGuard(args.step_limit)
    if args.step_limit:
        guard.start()
    weight = torch.randn(33, 33, requires_grad=True)
    for number in range(args.blocks):
        loss = (block(rank, number) @ weight).square().mean()
        loss.backward()
        gradient: Any = weight.grad
        dist.all_reduce(gradient)
        with torch.no_grad():
            weight -= 1e-3 / world * gradient
        weight.grad = None
        guard.done()
        log.info("block %d loss %.3f", number, loss.item())
        time.sleep(0.3)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
