"""Trains on tar shards that curl pipes into WebDataset, or that the standard library's tar reader streams."""

from __future__ import annotations

import argparse
import io
import logging
import os
import tarfile
import urllib.request
from collections.abc import Iterator
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
import webdataset as wds
from loop import Loop, classify

log = logging.getLogger("train")


def log_and_continue(error: Exception) -> bool:
    """Says what was wrong and goes on with the next."""
    log.warning("Handling webdataset error (%r). Ignoring.", error)
    return True


HANDLERS = {"raise": wds.reraise_exception, "warn": wds.warn_and_continue, "log": log_and_continue}


def samples_of_tar(url: str) -> Iterator[Any]:
    """The arrays of one shard, read as a stream."""
    with urllib.request.urlopen(url, timeout=20) as response, tarfile.open(fileobj=response, mode="r|") as tar:
        for member in tar:
            data = tar.extractfile(member)
            assert data is not None
            yield (np.load(io.BytesIO(data.read())),)


def samples(args: argparse.Namespace, rank: int, world: int) -> Any:
    where = f"{os.environ['AIS_ENDPOINT']}/v1/objects/imagenet/train/{args.shards}"
    if args.tarfile:
        own = wds.shardlists.expand_urls(where)[rank::world]
        return (sample for url in own for sample in samples_of_tar(url))
    urls = wds.shardlists.expand_urls(f"pipe:curl {args.curl} {where}")
    handler = HANDLERS[args.on_error]
    steps = [wds.tarfile_to_samples(handler=handler), wds.decode(handler=handler), wds.to_tuple("npy")]
    log.info("%d shards, own: %s", len(urls), " ".join(one[-10:-4] for one in urls[rank::world]))
    if not args.workers:
        return wds.DataPipeline(wds.SimpleShardList(urls[rank::world]), *steps)
    pipeline = wds.DataPipeline(wds.SimpleShardList(urls), wds.split_by_node, wds.split_by_worker, *steps)
    return torch.utils.data.DataLoader(pipeline, batch_size=None, num_workers=args.workers)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", default="shard-{000000..000015}.tar")
    parser.add_argument("--curl", default="-s -S -L -f")
    parser.add_argument("--tarfile", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--on-error", choices=HANDLERS, default="raise")
    parser.add_argument("--steps", type=int, default=10_000)
    args = parser.parse_args()
    rank, world = cluster.join()
    loop = Loop(torch.nn.Linear(32, 10), pause=0.15)
    for _, (rows,) in zip(range(args.steps), samples(args, rank, world), strict=False):
        loop.step(classify(loop.model, torch.as_tensor(rows).float()))
    log.info("start evaluation after %d steps", loop.done)
    dist.all_reduce(torch.zeros(3))
    loop.end()


if __name__ == "__main__":
    main()
