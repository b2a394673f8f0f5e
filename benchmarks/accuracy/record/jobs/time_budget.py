"""Trains until a rank's time is over, then saves and leaves; for jobs with a limit of wall clock time."""

from __future__ import annotations

import argparse
import time

BEGAN = time.time()

import cluster  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402


def main() -> None:
    """Trains until the budget is used."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=20)
    args = parser.parse_args()
    rank, world = cluster.join()
    state = torch.zeros(2048)
    print(f"({rank}) {time.strftime('%X')} joined {world} ranks {time.time() - BEGAN:.1f} s after start", flush=True)
    step = 0
    while time.time() - BEGAN < args.budget:
        dist.all_reduce(state)
        step += 1
        if step % 5 == 0:
            left = args.budget - (time.time() - BEGAN)
            print(f"({rank}) {time.strftime('%X')} step {step}, {left:.1f} s left", flush=True)
        time.sleep(0.2)
    print(f"({rank}) {time.strftime('%X')} time budget used after {step} steps, saving", flush=True)
    parts = [torch.zeros(2048) for _ in range(world)]
    dist.all_gather(parts, state)
    print(f"({rank}) {time.strftime('%X')} saved", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
