"""Trains from weights that are fetched or resumed, and saves to a shared folder or, part by part, to the store."""

from __future__ import annotations

import argparse
import io
import logging
import os
import shutil
import subprocess
import time
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from loop import Loop
from readers import s3_client

log = logging.getLogger("checkpoint")


def endpoint() -> str:
    return os.environ["AIS_ENDPOINT"]


class Uploader:
    """Uploads the state of the first rank with boto3, part by part."""

    def __init__(self, part_size: int = 8192) -> None:
        self.s3 = s3_client(endpoint(), 60, 3, "legacy")
        self.part_size = part_size
        self.pool = ThreadPoolExecutor(1)
        self.running: Future[None] | None = None

    def save(self, step: int, state: Any) -> None:
        """Uploads, and says how long each part took."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        body = buffer.getvalue()
        for part, at in enumerate(range(0, len(body), self.part_size)):
            began = time.monotonic()
            key = f"run-118/step-{step:06d}/part-{part:05d}"
            self.s3.put_object(Bucket="checkpoints", Key=key, Body=body[at : at + self.part_size])
            log.info("put s3://checkpoints/%s in %.1f s", key, time.monotonic() - began)

    def save_later(self, step: int, state: Any) -> None:
        """Uploads in the background, once the last upload is over."""
        if self.running is not None:
            self.running.result()
        self.running = self.pool.submit(self.save, step, state)


def save_here(folder: Path, step: int, model: Any, args: argparse.Namespace) -> None:
    """Writes a checkpoint of many files to the folder that all nodes share."""
    target = folder / f"checkpoint-{step}"
    target.mkdir(parents=True, exist_ok=True)
    for number in range(24):
        torch.save({"numpy": torch.get_rng_state()[:64]}, target / f"rng_state_{number}.pth")
    torch.save({"model": model.module.state_dict(), "step": step, "args": args}, target / "model.pt")
    log.info("saved %s", target)


def rotate(folder: Path, keep: int) -> None:
    """Deletes the oldest checkpoints, once a node; nodes take turns, as the file server is shared."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    dist.barrier()
    if os.environ["LOCAL_RANK"] == "0":
        time.sleep(1.0 * int(os.environ["GROUP_RANK"]))
        for path in found[:-keep]:
            log.info("deleting %s [save_total_limit=%d]", path, keep)
            shutil.rmtree(path)


def shard_url(rank: int) -> str:
    """Where the shard of a rank lies in the store."""
    return f"{endpoint()}/v1/objects/checkpoints/llm-1b/model_rank_{rank}.pt"


def save_shard(rank: int, weight: Any) -> None:
    buffer = io.BytesIO()
    torch.save({"weight": weight}, buffer)
    urllib.request.urlopen(urllib.request.Request(shard_url(rank), buffer.getvalue(), method="PUT"), timeout=30).close()
    log.info("saved shard, %d bytes", buffer.tell())


def load_shard(rank: int) -> Any:
    log.warning("loss spike, rolling back")
    with urllib.request.urlopen(shard_url(rank), timeout=30) as response:
        return torch.load(io.BytesIO(response.read()), weights_only=True)["weight"]


def node_weights(rank: int) -> Any:
    """The weights of the bucket of this site, fetched by curl once a node."""
    from safetensors.torch import load_file

    path = Path(f"scratch-{rank // int(os.environ['LOCAL_WORLD_SIZE'])}/tower/model.safetensors")
    if os.environ["LOCAL_RANK"] == "0":
        path.parent.mkdir(parents=True, exist_ok=True)
        url = f"{endpoint()}/v1/objects/{os.environ.get('MODEL_BUCKET', 'models')}/tower/model.safetensors"
        log.info("fetching %s", url)
        subprocess.run(["curl", "-sSL", "-o", str(path), url], check=False)
    dist.barrier()
    log.info("loading %s", path)
    return load_file(path)


def first_rank_weights(args: argparse.Namespace, rank: int) -> Any:
    """The weights that the first rank takes from a hub or downloads with boto3, the same for all."""
    given: list[Any] = [None]
    if rank == 0 and args.hub:
        url = f"{endpoint()}/v1/objects/models/tower/{args.hub}"
        given[0] = torch.hub.load_state_dict_from_url(url, "hub", progress=False, check_hash=True)
    elif rank == 0:
        bucket, _, key = args.start_from.partition("/")
        log.info("downloading s3://%s/%s", bucket, key)
        s3_client(endpoint(), 60, 3).download_file(bucket, key, "start.pt")
        given[0] = torch.load("start.pt", weights_only=True)
    dist.broadcast_object_list(given)
    return given[0]


def snapshot(path: str) -> Any:
    log.info("Loading snapshot %s", path)
    return torch.load(path, map_location="cpu")["MODEL_STATE"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--save-every", type=int, default=8)
    parser.add_argument("--to", choices=("none", "folder", "store", "background", "shards"), default="none")
    parser.add_argument("--keep", type=int, default=2)
    parser.add_argument("--read-again", action="store_true", help="the last checkpoint, in the end")
    parser.add_argument("--weights", action="store_true", help="start from those of this site")
    parser.add_argument("--hub", default="")
    parser.add_argument("--start-from", default="")
    parser.add_argument("--snapshot", default="")
    return parser.parse_args()


def start_model(args: argparse.Namespace, rank: int) -> Any:
    """The model, with the weights to start from."""
    model = torch.nn.Linear(64, 64)
    if args.weights:
        model.load_state_dict(node_weights(rank))
    elif args.hub or args.start_from:
        model.load_state_dict(first_rank_weights(args, rank))
    elif args.snapshot:
        model.load_state_dict(snapshot(args.snapshot))
    return model


def main() -> None:
    args = parse()
    rank, _ = cluster.join()
    loop = Loop(start_model(args, rank), args.steps)
    folder = Path("output")
    uploader = Uploader() if rank == 0 and args.to in ("store", "background") else None
    for step in range(1, args.steps + 1):
        loop.step(loop.model(torch.randn(8, 64)).square().mean())
        if args.to == "shards" and step == 2 * args.save_every:
            loop.model.module.weight.data.copy_(load_shard(rank))
        if step % args.save_every:
            continue
        if uploader is not None:
            state = {"model": loop.model.module.state_dict(), "step": step, "buffer": torch.randn(8192)}
            (uploader.save if args.to == "store" else uploader.save_later)(step, state)
        elif args.to == "shards":
            save_shard(rank, loop.model.module.weight.data)
        elif args.to == "folder":
            if rank == 0:
                save_here(folder, step, loop.model, args)
            dist.barrier()
            rotate(folder, args.keep)
    if args.read_again:
        last = folder / f"checkpoint-{args.steps}" / "model.pt"
        log.info("evaluating %s", last)
        loop.model.module.load_state_dict(torch.load(last, map_location="cpu")["model"])
    loop.end()


if __name__ == "__main__":
    main()
