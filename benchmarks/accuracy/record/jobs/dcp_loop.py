"""Trains with FSDP and saves by torch.distributed.checkpoint, where every rank writes its own part."""

from __future__ import annotations

import argparse
import os
import time

import cluster
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--save-every", type=int, default=5)
    parser.add_argument("--folder", default="ckpt")
    args = parser.parse_args()
    rank, world = cluster.join()
    mesh = init_device_mesh("cpu", (world,))
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if rank == 0:
        print(f"{model}\nmesh {mesh}, checkpoints every {args.save_every} steps below {args.folder}", flush=True)
    for step in range(1, args.steps + 1):
        rows = torch.randn(16, 64)
        loss = (model(rows) - rows).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"{time.strftime('%H:%M:%S')} step: {step:3d}  loss: {loss.item():.5f}", flush=True)
        if step % args.save_every == 0:
            began = time.time()
            weights, moments = get_state_dict(model, optimizer)
            where = os.path.join(args.folder, f"step-{step}")
            dcp.save({"model": weights, "optim": moments}, checkpoint_id=where)
            if rank == 0:
                print(f"{time.strftime('%H:%M:%S')} saved {where} in {time.time() - began:.2f} s", flush=True)
        time.sleep(0.2)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
