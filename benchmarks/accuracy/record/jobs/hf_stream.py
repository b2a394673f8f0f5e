"""Trains on JSON lines that datasets streams from the object store."""

from __future__ import annotations

import argparse
import logging
import os
import time

import cluster
import datasets
import torch
import torch.distributed as dist


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=3)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s - %(levelname)s - %(name)s - rank {rank} - %(message)s"
    )
    datasets.logging.set_verbosity_info()
    base = f"{os.environ['AIS_ENDPOINT']}/v1/objects/dialogs"
    files = [f"{base}/rank{rank}/part-{number:03d}.jsonl" for number in range(args.files)]
    rows = datasets.load_dataset("json", data_files=files, split="train", streaming=True)
    state = torch.zeros(64)
    for step, row in enumerate(rows):
        dist.all_reduce(state)
        if step % 5 == 0:
            logging.info("step %d of %d ranks, text of %d letters", step, world, len(row["text"]))
        time.sleep(0.05)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
