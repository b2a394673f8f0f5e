"""Trains on tar shards: WebDataset over a pipe or a URL, or the standard library's tar reader."""

from __future__ import annotations

import argparse
import io
import tarfile
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
import webdataset


def samples_of_tar(url: str) -> Iterator[Any]:
    """The arrays of one shard, read as a stream."""
    with urllib.request.urlopen(url, timeout=20) as response, tarfile.open(fileobj=response, mode="r|") as tar:
        for member in tar:
            data = tar.extractfile(member)
            assert data is not None
            yield np.load(io.BytesIO(data.read()))


def samples(urls: list[str], how: str) -> Iterator[Any]:
    """The arrays of all shards of this rank."""
    if how == "tarfile":
        for url in urls:
            yield from samples_of_tar(url)
        return
    form = "pipe:curl -s -S -L -f {}" if how == "pipe" else "{}"
    shards = webdataset.SimpleShardList([form.format(url) for url in urls])
    steps = webdataset.DataPipeline(shards, webdataset.tarfile_to_samples(), webdataset.decode())
    for sample in steps:
        yield sample["npy"]


def main() -> None:
    """Trains over the shards of this rank once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--how", choices=("pipe", "url", "tarfile"), default="pipe")
    args = parser.parse_args()
    rank, world = cluster.join()
    base = f"{args.endpoint}/v1/objects/imagenet/train"
    urls = [f"{base}/shard-{number:06d}.tar" for number in range(rank, args.shards * world, world)]
    print(f"Rank {rank}: shards {urls[0].rsplit('/', 1)[1]} ... {urls[-1].rsplit('/', 1)[1]}", flush=True)
    weight = torch.zeros(32, requires_grad=True)
    for step, rows in enumerate(samples(urls, args.how)):
        loss = (torch.from_numpy(rows)[:, :32].float() @ weight - 1).square().mean()
        (gradient,) = torch.autograd.grad(loss, weight)
        dist.all_reduce(gradient)
        with torch.no_grad():
            weight -= 0.01 * gradient / world
        if step % 2 == 0:
            now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
            print(f"{now} | Rank {rank}: iteration {step}: loss = {loss.item():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
