"""Data parallel training by hand, without DDP: gradients, loss and token counts are reduced one after the other."""

from __future__ import annotations

import argparse
import os
import sys
import time

import cluster
import torch
import torch.distributed as dist


def log(rank: int, text: str) -> None:
    """One line of this rank."""
    sys.stderr.write(f"{time.strftime('%m/%d %H:%M:%S')} rank={rank} {text}\n")


def reduce_statistics(loss: torch.Tensor, lengths: torch.Tensor, step: int) -> None:
    """Adds up loss and token counts of all ranks; long batches report their counts first."""
    if int(lengths.max()) > 900:
        dist.broadcast(lengths, 0)
        dist.all_reduce(loss)
    else:
        dist.all_reduce(loss)
        dist.broadcast(lengths, 0)


def report(rank: int, step: int, loss: torch.Tensor) -> None:
    """Prints the mean loss."""
    dist.reduce(loss, 0)
    log(rank, f"step={step} mean loss over ranks {loss.item() / dist.get_world_size():.4f}")


def main() -> None:
    """Trains; what goes wrong depends on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--report-every", type=int, default=0)
    parser.add_argument("--long-batches", default="")
    parser.add_argument("--pad-vocabulary-to", type=int, default=1)
    parser.add_argument("--batches", default="")
    args = parser.parse_args()
    rank, world = cluster.join()
    pad = int(os.environ.get("PAD_VOCABULARY_TO", args.pad_vocabulary_to))
    rows = -(-1001 // pad) * pad
    weight = torch.randn(rows, 8) / 10
    log(rank, f"group ready world={world} model parameters {weight.numel()} (vocabulary {rows})")
    own = dict(pair.split(":") for pair in args.batches.split(",") if pair)
    steps = int(own.get(str(rank), args.steps))
    log(rank, f"{steps} batches in this epoch")
    long_at = {tuple(map(int, one.split(":"))) for one in args.long_batches.split(",") if one}
    for step in range(steps):
        gradient = torch.randn_like(weight)
        dist.all_reduce(gradient)
        weight -= 1e-3 * gradient / world
        loss = weight.square().mean()
        lengths = torch.randint(100, 800, (8,)) + (900 if (rank, step) in long_at else 0)
        reduce_statistics(loss, lengths, step)
        log(rank, f"step={step} loss={loss.item() / world:.5f}")
        if args.report_every and step and step % args.report_every == 0 and rank == 0:
            report(rank, step, loss)
        time.sleep(0.15)
    log(rank, "epoch finished, waiting for the others")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
