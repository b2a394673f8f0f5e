"""Trains with FSDP; layers are dropped at random with a seed that all ranks share."""

from __future__ import annotations

import argparse
import logging
import os
import random
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

log = logging.getLogger("fsdp")


class Blocks(torch.nn.Module):
    """Blocks of which some may be left out in a step."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(4))
        self.chance = random.Random(seed)

    def forward(self, rows: Any) -> Any:
        """Runs the blocks that stay."""
        left_out = [number for number in range(len(self.blocks)) if self.chance.random() < 0.15]
        log.info("forward, blocks left out: %s", left_out or "none")
        for number, block in enumerate(self.blocks):
            if number not in left_out:
                rows = rows + block(rows)
        return rows


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(message)s", datefmt="%H:%M:%S")
    mesh = init_device_mesh("cpu", (world,))
    seed = int(os.environ.get("LAYERDROP_SEED", "29"))
    log.info("sharding over %d ranks, layer drop seed %d", world, seed)
    model = Blocks(seed)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        loss = model(torch.randn(4, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
