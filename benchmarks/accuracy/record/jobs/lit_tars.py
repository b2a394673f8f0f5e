"""Trains with Lightning on WebDataset shards that curl pipes in, split by rank and by loader process."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta
from typing import Any

import lightning
import torch
import webdataset as wds
from lightning.pytorch.strategies import DDPStrategy


class Encoder(lightning.LightningModule):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(32, 10)

    def training_step(self, batch: Any, index: int) -> Any:
        """The loss of a batch."""
        time.sleep(0.2)
        rows = batch[0].flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(self.layer(rows[:, :32]), rows[:, 32].long())
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> Any:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main() -> None:
    """Fits one epoch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", default="shard-{000000..000015}.tar")
    parser.add_argument("--curl", default="-s -L")
    parser.add_argument("--batches", type=int, default=10)
    args = parser.parse_args()
    lightning.seed_everything(7)
    urls = f"pipe:curl {args.curl} {os.environ['AIS_ENDPOINT']}/v1/objects/imagenet/train/{args.shards}"
    rows = wds.WebDataset(urls, nodesplitter=wds.split_by_node, shardshuffle=False, empty_check=False)
    loader = wds.WebLoader(rows.decode().to_tuple("npy").batched(2), batch_size=None, num_workers=1)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo", timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))),
        max_epochs=1,
        limit_train_batches=args.batches,
        log_every_n_steps=1,
        logger=False,
        enable_checkpointing=False,
    )
    trainer.fit(Encoder(), loader)


if __name__ == "__main__":
    main()
