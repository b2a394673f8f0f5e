"""Trains with distributed checkpoints and goes back to the last one when the loss leaps."""

from __future__ import annotations

import argparse
import logging
import time

import cluster
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

log = logging.getLogger("rollback")


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--save-at", type=int, default=4)
    parser.add_argument("--leap-at", type=int, default=14)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {rank} %(levelname)s %(message)s")
    model = torch.nn.Linear(64, 64)
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    for step in range(args.steps):
        loss = model(torch.randn(4, 64)).square().mean()
        loss.backward()
        log.info("step %d loss %.4f", step, loss.item() * (40 if step == args.leap_at else 1))
        if step == args.save_at:
            dcp.save({"model": model.state_dict()}, checkpoint_id="checkpoints/step-4")
            log.info("checkpoint checkpoints/step-4 is complete")
        if step == args.leap_at:
            log.warning("loss leaps, going back to checkpoints/step-4")
            kept = {"model": model.state_dict()}
            dcp.load(kept, checkpoint_id="checkpoints/step-4")
            model.load_state_dict(kept["model"])
        time.sleep(0.4)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
