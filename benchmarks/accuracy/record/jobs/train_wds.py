"""Trains on WebDataset shards that curl reads; a shard that breaks may be warned of and left out."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
import webdataset as wds


def own_shards(urls: list[str], rank: int, world: int) -> list[str]:
    """The shards of this rank."""
    return urls[rank::world]


def batches(args: argparse.Namespace, rank: int, world: int) -> Any:
    """Samples without end, or until the shards of this rank are used up."""
    where = f"{os.environ['AIS_ENDPOINT']}/v1/objects/imagenet/train/{args.shards}"
    urls = wds.shardlists.expand_urls(f"pipe:curl {args.curl} {where}")
    own = own_shards(urls, rank, world)
    print(f"[rank {rank}] {len(urls)} shards, own: {' '.join(one[-10:-4] for one in own)}", flush=True)
    handler = wds.warn_and_continue if args.go_on else wds.reraise_exception
    source = wds.SimpleShardList(own)
    steps = [wds.tarfile_to_samples(handler=handler), wds.decode(handler=handler), wds.to_tuple("npy")]
    return wds.DataPipeline(source, *steps).repeat()


def main() -> None:
    """Trains a number of steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", default="shard-{000000..000015}.tar")
    parser.add_argument("--curl", default="-s -S -L -f")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--go-on", action="store_true")
    args = parser.parse_args()
    rank, world = cluster.join()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, args.classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step, (rows,) in zip(range(args.steps), batches(args, rank, world), strict=False):
        values = torch.from_numpy(rows)
        loss = torch.nn.functional.cross_entropy(model(values[:, :32].float()), values[:, 32].long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [rank {rank}] step {step} loss {loss.item():.4f}", flush=True)
        time.sleep(0.1)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
