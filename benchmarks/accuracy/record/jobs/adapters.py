"""Fine-tunes with one adapter a language under DDP; which adapter a batch goes through depends on its language."""

from __future__ import annotations

import argparse
import logging
import os
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Adapted(torch.nn.Module):
    """A trunk and adapters; the shared adapter is used by most batches."""

    def __init__(self, languages: int) -> None:
        super().__init__()
        self.trunk = torch.nn.Linear(16, 16)
        self.shared = torch.nn.Linear(16, 16)
        self.adapters = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(languages))

    def forward(self, rows: Any, is_unknown: bool) -> Any:
        """Rows of an unknown language skip the adapters."""
        hidden = self.shared(self.trunk(rows))
        if is_unknown:
            return hidden
        return sum(adapter(hidden) for adapter in self.adapters)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--unknown", default="", help="rank:step pairs whose batch has no known language")
    args = parser.parse_args()
    rank, _ = cluster.join()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s | {rank} | %(levelname)-8s | %(message)s")
    languages = int(os.environ.get("ADAPTER_LANGUAGES", "3"))
    logging.info("building model with %d adapters", languages)
    model = DistributedDataParallel(Adapted(languages))
    optimizer = torch.optim.Adam(model.parameters())
    unknown = {tuple(map(int, one.split(":"))) for one in args.unknown.split(",") if one}
    for step in range(12):
        loss = model(torch.randn(4, 16), (rank, step) in unknown).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logging.info("train_step %d of 12, loss %.4f", step, loss.item())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
