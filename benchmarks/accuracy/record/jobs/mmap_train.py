"""Trains on token caches that are mapped into memory: each rank writes its cache once and reads it page by page."""

from __future__ import annotations

import argparse
import logging
import os
import time

import cluster
import numpy as np
import torch
import torch.distributed as dist


def build_cache(path: str, rank: int, tokens: int) -> None:
    """Tokenizes, which is random numbers here."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    logging.info("building %s", path)
    np.random.default_rng(rank).integers(0, 255, tokens, dtype=np.uint16).tofile(path)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache-dir", default=os.environ.get("TOKEN_CACHE", "cache"))
    parser.add_argument("--tokens", type=int, default=4 << 20)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--wandb", default="offline")
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s - {rank}: %(levelname)s - %(message)s")
    path = f"{args.cache_dir}/tokens_rank{rank}.bin"
    if not os.path.exists(path) or not os.path.getsize(path):
        build_cache(path, rank, args.tokens)
    data = np.memmap(path, dtype=np.uint16, mode="r")
    logging.info("%d tokens in %s", len(data), path)
    embedding = torch.nn.Embedding(256, 16)
    part = len(data) // args.steps
    for step in range(args.steps):
        ids = torch.from_numpy(data[step * part : step * part + 4096].astype(np.int64))
        loss = embedding(ids).square().mean()
        loss.backward()
        dist.all_reduce(embedding.weight.grad)
        with torch.no_grad():
            embedding.weight -= 0.1 / world * embedding.weight.grad
        embedding.weight.grad = None
        if step % 2 == 0:
            logging.info("step %d/%d loss %.5f", step, args.steps, loss.item())
        time.sleep(0.25)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
