"""Trains a two-tower recommender by hand: gradients, metrics and hit rates are shared with plain collectives."""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist

log = logging.getLogger("rec")


def settings() -> dict[str, Any]:
    """The settings of this host over those of the file."""
    with open("rec.json", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return {**found, **json.loads(os.environ.get("REC_SETTINGS", "{}"))}


def average(value: Any) -> Any:
    """The mean over all ranks."""
    dist.all_reduce(value)
    return value / dist.get_world_size()


def log_metrics(step: int, loss: Any, before: float, spike: float) -> None:
    """Logs the loss of all ranks; spikes are looked at more closely."""
    if float(loss) > spike * before:
        log.warning("loss spike at step %d: %.4f after %.4f", step, loss, before)
        spread = torch.stack([loss, loss * loss])
        log.info("mean and second moment over ranks %s", average(spread).tolist())
    mean = torch.zeros(1) + loss
    log.info("step %d loss %.4f mean %.4f", step, loss, average(mean).item())


def save(rank: int, weight: Any, step: int) -> None:
    """The first rank saves while the others wait."""
    if rank == 0:
        torch.save(weight, f"towers-{step}.pt")
        log.info("saved towers-%d.pt", step)
        dist.barrier()


def evaluate(weight: Any, path: str, step: int) -> None:
    """Hit rate over the held out users of this rank."""
    with open(path, encoding="utf-8") as file:
        users = [line.strip() for line in file if line.strip()]
    if not users:
        log.info("no held out users in %s, nothing to evaluate", path)
        return
    hits = torch.tensor([float(len(users)), float(weight.mean() > 0)])
    log.info("step %d: hit rate over %d users is %s", step, len(users), average(hits).tolist())


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--spike", type=float, default=10)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--eval-every", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rank, _ = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)-7s <{rank}> %(message)s")
    given = settings()
    log.info("settings %s", given)
    weight = torch.randn(64, int(given["dim"]), generator=torch.Generator().manual_seed(3))
    chance = torch.Generator().manual_seed(args.seed + rank)
    losses: list[float] = []
    for step in range(args.steps):
        users = torch.randn(int(given["batch"]), 64, generator=chance)
        scores = users @ weight
        gradient = average(users.T @ scores / len(users))
        weight -= float(given["lr"]) * gradient
        losses.append(float(scores.square().mean()))
        log_metrics(step, scores.square().mean(), losses[-2] if step else losses[0], args.spike)
        if args.save_every and step and step % args.save_every == 0:
            save(rank, weight, step)
        if args.eval_every and step and step % args.eval_every == 0:
            evaluate(weight, f"heldout/users.{rank}.txt", step)
        time.sleep(0.2)
    log.info("finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
