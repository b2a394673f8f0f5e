"""Trains with Lightning on objects that loader processes fetch; a callback exports tables now and then."""

from __future__ import annotations

import argparse
import io
import os
import time
import urllib.error
import urllib.request
import warnings
from datetime import timedelta
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, Dataset


class Parts(Dataset):
    """One item is one object of the bucket; a read that is refused is tried again."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count

    def __len__(self) -> int:
        return self.count * int(os.environ["WORLD_SIZE"])

    def __getitem__(self, index: int) -> Any:
        number = index // int(os.environ["WORLD_SIZE"])
        url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/asr-train/features/part-{self.rank:02d}-{number:05d}.npy"
        for attempt in range(3):
            try:
                with urllib.request.urlopen(url, timeout=10) as response:
                    return torch.from_numpy(np.load(io.BytesIO(response.read())))
            except OSError as error:
                if attempt == 2:
                    raise
                warnings.warn(f"rank {self.rank}: part {number}: {error}; trying again", stacklevel=1)
                time.sleep(0.5)
        raise AssertionError


class Export(Callback):
    """Exports a table for the dashboard and waits until the dashboard has seen it."""

    def __init__(self, rank: int, at: str) -> None:
        self.rank, self.at = rank, at

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Exports."""
        print(f"{time.strftime('%H:%M:%S')} rank {self.rank}: batch {batch_idx} done", flush=True)
        if self.at == f"{self.rank}:{batch_idx}":
            print(f"{time.strftime('%H:%M:%S')} rank {self.rank}: table exported, waiting for dashboard", flush=True)
            while not os.path.exists("dashboard.ready"):
                time.sleep(1)


class Classifier(lightning.LightningModule):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(32, 10)

    def training_step(self, batch: Any, index: int) -> Any:
        """The loss of a batch."""
        time.sleep(0.15)
        return torch.nn.functional.cross_entropy(self.layer(batch[:, :32]), batch[:, 32].long())

    def configure_optimizers(self) -> Any:
        """Stochastic gradient descent."""
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main() -> None:
    """Fits one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--export", default="", help="rank:batch")
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo", timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))),
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[Export(rank, args.export)],
    )
    trainer.fit(Classifier(), DataLoader(Parts(rank, args.count), batch_size=None, num_workers=1))


if __name__ == "__main__":
    main()
