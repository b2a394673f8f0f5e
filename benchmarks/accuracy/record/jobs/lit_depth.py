"""Trains a depth regressor with Lightning; gradient norms are logged beside the loss."""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, TensorDataset


class DepthNet(pl.LightningModule):
    """Regresses a depth from a patch."""

    def __init__(self, norm_every: int) -> None:
        super().__init__()
        self.norm_every = norm_every
        self.net = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss of a batch."""
        patches, depths = batch
        time.sleep(0.15)
        loss = torch.nn.functional.huber_loss(self.net(patches), depths)
        self.log("train/huber", loss, prog_bar=True)
        return loss

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Logs the norm of the gradients now and then."""
        step = self.trainer.global_step + 1
        if self.norm_every and step % self.norm_every == 0 and self.trainer.is_global_zero:
            norms = torch.stack([p.grad.norm() for p in self.parameters() if p.grad is not None])
            self.log("train/grad_norm", norms.norm(), sync_dist=True)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """The error of a batch."""
        patches, depths = batch
        self.log("val/mae", (self.net(patches) - depths).abs().mean(), sync_dist=True, prog_bar=True)

    def configure_optimizers(self) -> Any:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def loader(count: int) -> Any:
    """Random patches."""
    generator = torch.Generator().manual_seed(count)
    data = TensorDataset(torch.randn(count, 24, generator=generator), torch.rand(count, 1, generator=generator))
    return DataLoader(data, batch_size=4)


def main() -> None:
    """Fits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--norm-every", type=int, default=0)
    args = parser.parse_args()
    pl.seed_everything(3)
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo", timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))),
        max_epochs=args.epochs,
        logger=CSVLogger("runs", name="depth"),
        log_every_n_steps=4,
        callbacks=[ModelCheckpoint(monitor="val/mae"), TQDMProgressBar(refresh_rate=3)],
    )
    trainer.fit(DepthNet(args.norm_every), loader(320), loader(48))


if __name__ == "__main__":
    main()
