"""Trains in pipeline stages: every stage gets activations from the one before and sends its own on."""

from __future__ import annotations

import argparse
import sys
import time

import cluster
import torch
import torch.distributed as dist


def say(stage: int, text: str) -> None:
    """One line of this stage."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} stage{stage} {text}", file=sys.stderr, flush=True)


def forward_step(stage: int, last: int, micro_batches: int) -> None:
    """Hands the micro-batches of a step through this stage."""
    layer = torch.nn.Linear(64, 64)
    for number in range(micro_batches):
        rows = torch.randn(8, 64)
        if stage > 0:
            dist.recv(rows, src=stage - 1)
        with torch.no_grad():
            rows = layer(rows)
        if stage < last:
            dist.send(rows, dst=stage + 1)
        say(stage, f"micro-batch {number + 1}/{micro_batches} forwarded")


def main() -> None:
    """Trains; the number of micro-batches follows from the batch size, by stage if told so."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batches", default="4,4,4")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--switch-at", type=int, default=5, help="the step from which the second list counts")
    parser.add_argument("--later", default="4,4,4")
    args = parser.parse_args()
    stage, world = cluster.join()
    for step in range(args.steps):
        counts = args.later if step >= args.switch_at else args.micro_batches
        count = int(counts.split(",")[stage])
        say(stage, f"step {step} begins with {count} micro-batches")
        forward_step(stage, world - 1, count)
        norm = torch.ones(1)
        dist.all_reduce(norm)
        say(stage, f"step {step} done")
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
