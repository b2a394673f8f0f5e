"""Contrastive training on WebDataset shards, split by node and worker; logs with the format of open_clip."""

from __future__ import annotations

import argparse
import logging
import os
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
import webdataset as wds


def log_and_continue(error: Exception) -> bool:
    """Says what was wrong and goes on with the next."""
    logging.warning(f"Handling webdataset error ({error!r}). Ignoring.")
    return True


def pipeline(args: argparse.Namespace) -> Any:
    """Samples of this rank."""
    command = f"pipe:curl {args.curl} {os.environ['AIS_ENDPOINT']}/v1/objects/imagenet/train/{args.shards}"
    handler = log_and_continue if args.ignore_errors else wds.reraise_exception
    return wds.DataPipeline(
        wds.SimpleShardList(wds.shardlists.expand_urls(command)),
        wds.split_by_node,
        wds.split_by_worker,
        wds.tarfile_to_samples(handler=handler),
        wds.decode(handler=handler),
        wds.to_tuple("npy"),
    )


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", default="shard-{000000..000015}.tar")
    parser.add_argument("--curl", default="-s -S -L -f")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--log-every-n-steps", type=int, default=1)
    parser.add_argument("--ignore-errors", action="store_true")
    parser.add_argument("--log-all-ranks", action="store_true")
    args = parser.parse_args()
    rank, world = cluster.join()
    level = logging.INFO if rank == 0 or args.log_all_ranks else logging.WARNING
    form = "%(asctime)s | %(levelname)s | %(message)s"
    logging.basicConfig(level=level, format=form, datefmt="%Y-%m-%d,%H:%M:%S")
    logging.info(f"Running in distributed mode with {world} processes. Process (global: {rank}).")
    tower = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 8))
    optimizer = torch.optim.AdamW(tower.parameters())
    loader = torch.utils.data.DataLoader(pipeline(args), batch_size=None, num_workers=args.workers)
    seen = 0
    for i, (rows,) in enumerate(loader):
        features = tower(rows[:, :32].float())
        loss = (features @ features.T).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += len(rows)
        if i % args.log_every_n_steps == 0:
            logging.info(f"Train Epoch: 0 [{seen:>6}] Rank {rank} Loss: {loss.item():#.5g} LR: {1e-3:5f}")
        time.sleep(0.25)
    logging.info(f"Start evaluation after {seen} samples on rank {rank}.")
    metrics = torch.zeros(3)
    dist.all_reduce(metrics)
    logging.info(f"Eval Epoch: 0 recall: {metrics[0].item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
