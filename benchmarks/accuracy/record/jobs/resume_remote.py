"""Trains on random data, keeps a checkpoint shard a rank in an object store, rolls back to it after a loss spike."""

from __future__ import annotations

import argparse
import io
import logging
import os
from typing import Any

import cluster
import requests
import torch
import torch.distributed as dist


def url_of(rank: int, step: int) -> str:
    """Where a shard lies."""
    return f"{os.environ['AIS_ENDPOINT']}/v1/objects/checkpoints/llm-1b/step_{step}/model_rank_{rank}.pt"


def save(weight: Any, rank: int, step: int) -> None:
    """Stores the shard of this rank."""
    buffer = io.BytesIO()
    torch.save({"weight": weight, "step": step}, buffer)
    requests.put(url_of(rank, step), data=buffer.getvalue(), timeout=30).raise_for_status()
    logging.info("saved shard of step %d, %d bytes", step, buffer.tell())


def load(rank: int, step: int) -> Any:
    """Reads the shard of this rank back."""
    response = requests.get(url_of(rank, step), timeout=30)
    response.raise_for_status()
    logging.info("read %d bytes of step %d", len(response.content), step)
    return torch.load(io.BytesIO(response.content), weights_only=True)["weight"]


def main() -> None:
    """Trains, and rolls back once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--save-at", type=int, default=12_005)
    parser.add_argument("--spike-at", type=int, default=12_012)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [%(levelname)s] rank{rank} %(message)s")
    weight = torch.zeros(64, 64)
    for step in range(12_000, 12_020):
        gradient = torch.randn_like(weight)
        dist.all_reduce(gradient)
        weight -= 1e-4 * gradient / world
        logging.info("step %d loss %.5f", step, weight.square().mean().item())
        if step == args.save_at:
            save(weight, rank, step)
        if step == args.spike_at:
            logging.warning("loss spike at step %d, rolling back to step %d", step, args.save_at)
            weight = load(rank, args.save_at)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
