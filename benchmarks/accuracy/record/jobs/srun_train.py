"""Trains as plain tasks: ranks come from the environment, signals of the batch system are answered by a save."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
import urllib.request
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

log = logging.getLogger("main")


def fetch(key: str) -> int:
    """The size of an object, tried four times."""
    url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/{key}"
    for attempt in range(1, 5):
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return len(response.read())
        except OSError as error:
            log.warning("reading %s failed (attempt %d of 4): %s", key, attempt, error)
            time.sleep(0.3)
    raise RuntimeError(f"cannot read {key}")


def on_signal(number: int, _frame: Any) -> None:
    """Leaves, as a batch system asks for it."""
    log.warning("received signal %s, leaving", signal.Signals(number).name)
    sys.exit(128 + number)


def join() -> int:
    """Joins by the environment."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    log.info("rank %d of %d joins at %s:%s", rank, world, os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
    wait = timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))
    dist.init_process_group("gloo", timeout=wait)
    log.info("joined")
    return rank


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--reads", type=int, default=0)
    parser.add_argument("--answer-signals", action="store_true")
    args = parser.parse_args()
    form = f"%(asctime)s p{os.environ['SLURM_PROCID']} %(levelname)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form)
    if args.answer_signals:
        signal.signal(signal.SIGTERM, on_signal)
    rank = join()
    state = torch.zeros(1 << 12)
    for step in range(args.steps):
        if step < args.reads:
            log.info("shard %d has %d bytes", step, fetch(f"corpus/shard-{rank}-{step:03d}.bin"))
        dist.all_reduce(state)
        log.info("step %d/%d", step, args.steps)
        time.sleep(0.25)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
