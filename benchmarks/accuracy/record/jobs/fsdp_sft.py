"""Supervised fine-tuning with FSDP; full weights are exported now and then, only the first rank prints."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def print0(*args: Any) -> None:
    """Prints on the first rank."""
    if dist.get_rank() == 0:
        print(time.strftime("[%Y-%m-%d %H:%M:%S]"), *args, flush=True)


def export(model: Any, path: str) -> None:
    """Writes the whole weights to one file."""
    if dist.get_rank() == 0:
        print0("exporting to", path)
        whole = {name: value.full_tensor() for name, value in model.state_dict().items()}
        torch.save(whole, path)
        print0("exported", len(whole), "tensors")


def samples(path: str, rank: int, world: int) -> Any:
    """The samples of this rank, again and again."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()[rank::world]
    while True:
        for line in lines:
            row = json.loads(line)
            yield torch.tensor([ord(letter) % 64 for letter in row["prompt"] + row["answer"]][:40])


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="sft/train.jsonl")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--export-at", type=int, default=0)
    args = parser.parse_args()
    rank, world = cluster.join()
    mesh = init_device_mesh("cpu", (world,))
    model = torch.nn.Sequential(torch.nn.Embedding(64, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 64))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    print0("world", world, "host threads", os.environ.get("OMP_NUM_THREADS"), "data", args.data)
    for step, ids in zip(range(args.steps), samples(args.data, rank, world), strict=False):
        logits = model(ids[:-1])
        loss = torch.nn.functional.cross_entropy(logits, ids[1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print0(f"step {step} | loss {loss.item():.4f} | lr 1.00e-03")
        if args.export_at and step == args.export_at:
            export(model, "whole.pt")
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
