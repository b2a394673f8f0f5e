"""Trains on Parquet tables that datasets streams and splits by rank; every rank has a progress bar."""

from __future__ import annotations

import argparse
import os
import time

import cluster
import datasets
import torch
import torch.distributed as dist
from datasets.distributed import split_dataset_by_node
from tqdm import tqdm  # type: ignore[import-untyped]


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=4)
    args = parser.parse_args()
    rank, world = cluster.join()
    base = f"{os.environ['AIS_ENDPOINT']}/v1/objects/web-text"
    urls = [f"{base}/train-{number:05d}-of-{args.tables:05d}.parquet" for number in range(args.tables)]
    rows = datasets.load_dataset("parquet", data_files={"train": urls}, split="train", streaming=True)
    own = split_dataset_by_node(rows, rank=rank, world_size=world)
    model = torch.nn.Linear(1, 1)
    steps = args.tables // world * 40 // args.batch_size
    bar = tqdm(own.iter(args.batch_size), desc=f"rank {rank}", total=steps, mininterval=1.0, ncols=80)
    for batch in bar:
        lengths = torch.tensor([[float(len(text))] for text in batch["text"]])
        loss = model(lengths).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data.sub_(parameter.grad, alpha=1e-6 / world)
            parameter.grad = None
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
        time.sleep(0.2)
    dist.barrier()
    if rank == 0:
        print("epoch done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
