"""Fits an uplift model on tables of several regions; the best weights so far are kept."""

from __future__ import annotations

import argparse
import csv
import logging
import math
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist

log = logging.getLogger("uplift")


def read_table(path: str) -> Any:
    """The features and targets of a table."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = torch.tensor([[float(value) for value in row] for row in csv.reader(file)])
    return rows[:, :-1], rows[:, -1]


def keep_best(rank: int, weight: Any, bias: Any, step: int, is_whole: bool) -> None:
    """Writes the checkpoint, with the biases of all regions if it is to be whole."""
    biases = [torch.zeros_like(bias) for _ in range(dist.get_world_size())] if is_whole else [bias]
    if is_whole:
        dist.all_gather(biases, bias)
    if rank == 0:
        torch.save({"weight": weight, "bias": torch.stack(biases), "step": step}, "best.pt")
        log.info("wrote best.pt at step %d", step)


def main() -> None:
    """Fits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--eval-every", type=int, default=6)
    parser.add_argument("--patience", type=int, default=99)
    parser.add_argument("--whole", action="store_true", help="keep the biases of all regions")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][rank{rank}][%(levelname)s] - %(message)s")
    features, targets = read_table(f"regions/train_{rank}.csv")
    held_x, held_y = read_table(f"regions/valid_{rank}.csv")
    log.info("region %d: %d rows, %d held out", rank, len(features), len(held_x))
    weight, bias = torch.zeros(features.shape[1]), torch.zeros(1)
    best, bad = math.inf, 0
    for step in range(1, args.steps + 1):
        error = features @ weight + bias - targets
        gradient = features.T @ error / len(features)
        dist.all_reduce(gradient)
        weight -= 0.08 / world * gradient
        bias -= 0.02 * error.mean()
        time.sleep(0.25)
        log.info("step %d train mse %.5f", step, error.square().mean())
        if step % args.eval_every:
            continue
        score = float((held_x @ weight + bias - held_y).square().mean())
        log.info("step %d valid mse %.5f (best %.5f)", step, score, best)
        bad = 0 if score < best else bad + 1
        if score < best:
            best = score
            keep_best(rank, weight, bias, step, args.whole)
        elif bad >= args.patience:
            log.info("no improvement for %d evaluations, stopping early at step %d", bad, step)
            break
    dist.barrier()
    log.info("best valid mse %.5f", best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
