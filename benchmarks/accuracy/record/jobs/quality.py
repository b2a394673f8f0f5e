"""Trains a defect classifier and keeps its F1 with torchmetrics; lines look like those of loguru."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
import torchmetrics  # type: ignore[import-not-found]
from torch.nn.parallel import DistributedDataParallel as DDP


def say(level: str, text: str) -> None:
    """Writes a line."""
    caller = sys._getframe(1)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S") + f".{int(time.time() * 1000) % 1000:03d}"
    where = f"{caller.f_globals['__name__']}:{caller.f_code.co_name}:{caller.f_lineno}"
    print(f"{stamp} | {level: <8} | {where} - {text}", file=sys.stderr, flush=True)


def batch_of(generator: Any) -> Any:
    """A batch of measurements and whether the part is defective."""
    x = torch.randn(16, 20, generator=generator)
    return x, (x.sum(1) > 0).long()


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--report-every", type=int, default=15)
    args = parser.parse_args()
    rank, world = cluster.join()
    say("INFO", f"rank {rank}/{world} ready, torchmetrics {torchmetrics.__version__}")
    model = DDP(torch.nn.Linear(20, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    f1 = torchmetrics.F1Score(task="multiclass", num_classes=2, average="macro")
    generator = torch.Generator().manual_seed(rank)
    for step in range(1, args.steps + 1):
        x, y = batch_of(generator)
        logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        f1.update(logits, y)
        time.sleep(0.2)
        if step % 5 == 0:
            say("INFO", f"rank {rank} step {step} loss {loss.item():.4f}")
        if step % args.report_every == 0 and rank == 0:
            say("SUCCESS", f"step {step} macro F1 {f1.compute():.4f}")
            f1.reset()
    say("INFO", f"rank {rank} finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
