"""Trains a toy regression with Lightning's Trainer, strategy ddp on gloo."""

from __future__ import annotations

import argparse
import os
from datetime import timedelta
from typing import Any

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, Dataset


class Cuts(Dataset):
    """Random cuts; one of the validation list has no supervision."""

    def __init__(self, count: int, unlabelled: int = -1) -> None:
        self.count, self.unlabelled = count, unlabelled

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        cut = {"audio": torch.randn(16), "id": index}
        if index != self.unlabelled:
            cut["target"] = torch.randn(1)
        return cut


class Regression(lightning.LightningModule):
    """One linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(16, 1)

    def training_step(self, batch: Any, index: int) -> Any:
        """The loss of a batch."""
        loss = (self.layer(batch["audio"]) - batch["target"]).square().mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        """The loss of a validation batch, added up over the ranks."""
        loss = (self.layer(batch["audio"]) - batch["target"]).square().mean()
        self.log("val_loss", loss, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """Adam."""
        return torch.optim.Adam(self.parameters())


def main() -> None:
    """Fits two epochs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--unlabelled", type=int, default=-1)
    args = parser.parse_args()
    lightning.seed_everything(7)
    wait = timedelta(seconds=int(os.environ.get("PG_TIMEOUT_S", "1800")))
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo", timeout=wait),
        max_epochs=2,
        log_every_n_steps=1,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
    )
    trainer.fit(
        Regression(),
        DataLoader(Cuts(160), batch_size=4),
        DataLoader(Cuts(32, args.unlabelled), batch_size=2),
    )


if __name__ == "__main__":
    main()
