"""Pretrains an encoder; the first rank copies every checkpoint to an archive that others share."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

BLOCK = 64 * 1024


def say(rank: int, text: str) -> None:
    """A line with the time."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} rank={rank} {text}", file=sys.stderr, flush=True)


def copy_gently(source: Path, goal: Path, rate: int) -> None:
    """Copies a file at so many bytes a second, as the archive is shared."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as given, goal.open("wb") as kept:
        while block := given.read(BLOCK):
            kept.write(block)
            time.sleep(len(block) / rate)


def save(model: Any, step: int, args: argparse.Namespace) -> None:
    """Saves here and in the archive."""
    path = Path(f"encoder-{step:05d}.pt")
    torch.save(model.module.state_dict(), path)
    size = path.stat().st_size
    say(0, f"saved {path} ({size / 1e6:.1f} MB), copying to {args.archive} at {args.archive_rate // 1000} kB/s")
    started = time.monotonic()
    copy_gently(path, Path(args.archive) / path.name, args.archive_rate)
    say(0, f"copied {path} in {time.monotonic() - started:.1f} s")


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--save-every", type=int, default=15)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--archive", default="archive/encoder")
    parser.add_argument("--archive-rate", type=int, default=20_000_000, help="bytes a second")
    args = parser.parse_args()
    rank, world = cluster.join()
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(args.width, args.width) for _ in range(8)]
    model = DDP(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    say(rank, f"world={world} layers={len(layers)} width={args.width}")
    for step in range(args.steps):
        loss = (model(torch.randn(8, args.width)) - 0.5).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        say(rank, f"step={step} loss={loss.item():.4f}")
        time.sleep(0.15)
        if rank == 0 and step and step % args.save_every == 0:
            save(model, step, args)
    dist.barrier()
    say(rank, "finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
