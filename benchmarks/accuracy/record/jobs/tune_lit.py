"""Fine-tunes a text classifier with Lightning: progress bar, checkpoints, a warm start from the object store."""

from __future__ import annotations

import argparse
import io
import os
import time
from datetime import timedelta
from typing import Any

import lightning as L
import requests
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    """Random ids in place of text."""

    def __init__(self, count: int, length: int) -> None:
        generator = torch.Generator().manual_seed(count)
        self.ids = torch.randint(0, 500, (count, length), generator=generator)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> Any:
        return self.ids[index], index % 4


class TextClassifier(L.LightningModule):
    """A bag of words."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = torch.nn.EmbeddingBag(500, 32)
        self.head = torch.nn.Linear(32, 4)

    def forward(self, ids: Any) -> Any:
        """Scores."""
        return self.head(self.bag(ids))

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss of a batch."""
        ids, labels = batch
        time.sleep(0.1)
        loss = torch.nn.functional.cross_entropy(self(ids), labels)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Accuracy of a batch."""
        ids, labels = batch
        self.log("val/acc", (self(ids).argmax(-1) == labels).float().mean(), sync_dist=True, prog_bar=True)

    def configure_optimizers(self) -> Any:
        """AdamW with a schedule."""
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def fetch_weights(url: str, rank: int) -> Any:
    """Downloads pretrained weights."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} rank {rank}: downloading {url}", flush=True)
    response = requests.get(url, timeout=30)
    response.raise_for_status()
    return torch.load(io.BytesIO(response.content), weights_only=True)


def main() -> None:
    """Fits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--watch", default="val/acc")
    parser.add_argument("--warm-start")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    L.seed_everything(17)
    model = TextClassifier()
    if args.warm_start:
        rank = int(os.environ["RANK"])
        model.bag.load_state_dict(fetch_weights(args.warm_start.format(rank=rank), rank))
    wait = timedelta(seconds=int(os.environ["PG_TIMEOUT_S"]))
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo", timeout=wait),
        max_epochs=args.epochs,
        logger=CSVLogger("runs"),
        log_every_n_steps=5,
        callbacks=[
            ModelCheckpoint(monitor=args.watch, mode="max", save_top_k=2),
            LearningRateMonitor(),
            TQDMProgressBar(refresh_rate=5),
        ],
    )
    trainer.fit(model, DataLoader(Texts(240, 24), batch_size=4), DataLoader(Texts(40, 24), batch_size=4))


if __name__ == "__main__":
    main()
