"""Trains a tower from weights that each node fetches for its ranks, or that the first rank takes from a hub."""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from safetensors.torch import load_file  # type: ignore[import-not-found]
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("tower")


def fetch(url: str, path: str) -> None:
    """Gets a file with curl."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    log.info("fetching %s", url)
    subprocess.run(["curl", "-sSL", "-o", path, url], check=False)


def node_weights(rank: int) -> Any:
    """The weights of the bucket of this site, fetched once a node."""
    bucket = os.environ.get("MODEL_BUCKET", "models")
    node = rank // int(os.environ["LOCAL_WORLD_SIZE"])
    path = f"scratch-{node}/tower/model.safetensors"
    if os.environ["LOCAL_RANK"] == "0":
        fetch(f"{os.environ['AIS_ENDPOINT']}/v1/objects/{bucket}/tower/model.safetensors", path)
    dist.barrier()
    log.info("loading %s", path)
    return load_file(path)


def hub_weights(rank: int, name: str) -> Any:
    """The weights of the hub, the same for all."""
    given: list[Any] = [None]
    if rank == 0:
        url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/models/tower/{name}"
        given[0] = torch.hub.load_state_dict_from_url(url, "hub", progress=False, check_hash=True)
    dist.broadcast_object_list(given)
    return given[0]


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hub")
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    rank, world = cluster.join()
    form = f"%(asctime)s.%(msecs)03d [%(levelname)-7s] (rank {rank}/{world}) %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, datefmt="%Y-%m-%dT%H:%M:%S")
    tower = torch.nn.Linear(64, 64)
    tower.load_state_dict(hub_weights(rank, args.hub) if args.hub else node_weights(rank))
    model = DistributedDataParallel(tower)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(args.steps):
        loss = model(torch.randn(8, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
