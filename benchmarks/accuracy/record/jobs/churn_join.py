"""Trains a churn model inside DDP's join context, as ranks may have different numbers of rows."""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path

import cluster
import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    """Trains one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="churn/rows.{rank}.txt")
    parser.add_argument("--strict", action="store_true", help="give up as soon as a rank has no more rows")
    args = parser.parse_args()
    rank, _ = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(levelname)s:churn:%(asctime)s:r{rank}: %(message)s")
    rows = [float(line) for line in Path(args.rows.format(rank=rank)).read_text("utf-8").split()]
    batches = torch.tensor(rows[: len(rows) // 8 * 8]).view(-1, 8, 1)
    logging.info("%d rows, %d batches", len(rows), len(batches))
    model = DistributedDataParallel(torch.nn.Linear(1, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Join([model], throw_on_early_termination=args.strict):
        for number, batch in enumerate(batches):
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            time.sleep(0.2)
            if number % 4 == 0:
                logging.info("batch %d/%d loss %.4f", number, len(batches), loss.item())
    logging.info("epoch done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
