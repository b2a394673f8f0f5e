"""Trains with FSDP; layers may be dropped, whole weights exported, distributed checkpoints written and read."""

from __future__ import annotations

import argparse
import logging
import os
import random
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

log = logging.getLogger("fsdp")


class Blocks(torch.nn.Module):
    """Blocks of which some may be left out in a step."""

    def __init__(self, chance: float, seed: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(64, 32)
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(4))
        self.head = torch.nn.Linear(32, 64)
        self.chance, self.random = chance, random.Random(seed)

    def forward(self, ids: Any) -> Any:
        rows = self.embed(ids)
        for block in self.blocks:
            if self.random.random() >= self.chance:
                rows = rows + block(rows)
        return self.head(rows)


def export(model: Any, path: str) -> None:
    """Writes the whole weights to one file."""
    if dist.get_rank() == 0:
        log.info("exporting to %s", path)
        torch.save({name: value.full_tensor() for name, value in model.state_dict().items()}, path)


def ids_of(rows: list[dict[str, Any]], step: int) -> Any:
    row = rows[step % len(rows)]
    return torch.tensor([ord(letter) % 64 for letter in row["prompt"] + row["answer"]][:40])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--layer-drop", type=float, default=0.0)
    parser.add_argument("--export-at", type=int, default=-1)
    parser.add_argument("--save-at", type=int, default=-1)
    parser.add_argument("--load-at", type=int, default=-1)
    args = parser.parse_args()
    rank, world = cluster.join()
    seed = int(os.environ.get("LAYERDROP_SEED", "29"))
    log.info("sharding over %d ranks, layer drop %.2f with seed %d", world, args.layer_drop, seed)
    rows = cluster.rows_of(rank)
    mesh = init_device_mesh("cpu", (world,))
    model = Blocks(args.layer_drop, seed)
    for layer in (*model.blocks, model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        ids = ids_of(rows, step)
        loss = torch.nn.functional.cross_entropy(model(ids[:-1]), ids[1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d/%d loss %.4f", step, args.steps, loss.item())
        if step == args.export_at:
            export(model, "whole.pt")
        if step == args.save_at:
            dcp.save({"model": model.state_dict()}, checkpoint_id="ckpt/step-10")
            log.info("checkpoint ckpt/step-10 is complete")
        if step == args.load_at:
            kept = {"model": model.state_dict()}
            dcp.load(kept, checkpoint_id="ckpt/step-10")
            model.load_state_dict(kept["model"])
        time.sleep(0.3)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
