"""Trains with Lightning on patches, on objects that loader processes fetch, or on WebDataset shards."""

from __future__ import annotations

import argparse
import io
import os
import time
import urllib.request
import warnings
from typing import Any

import cluster
import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    """Random patches; one of the validation list has no target."""

    def __init__(self, count: int, unlabelled: int = -1) -> None:
        self.count, self.unlabelled = count, unlabelled

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        patch = {"rows": torch.randn(32), "id": index}
        return patch if index == self.unlabelled else {**patch, "target": index % 10}


class Objects(Dataset):
    """One item is one object of the bucket; a read that is refused is warned of and tried again."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count

    def __len__(self) -> int:
        return self.count * int(os.environ["WORLD_SIZE"])

    def __getitem__(self, index: int) -> Any:
        number = index // int(os.environ["WORLD_SIZE"])
        url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/speech-v3/train/{self.rank}/part-{number:05d}.npy"
        for attempt in range(3):
            try:
                with urllib.request.urlopen(url, timeout=10) as response:
                    return batch_of(torch.from_numpy(np.load(io.BytesIO(response.read()))))
            except OSError as error:
                if attempt == 2:
                    raise
                warnings.warn(f"rank {self.rank}: part {number}: {error}; trying again", stacklevel=1)
                time.sleep(0.5)
        raise AssertionError


def batch_of(rows: Any) -> Any:
    return {"rows": rows[:, :32], "target": rows[:, 32].long()}


class Export(Callback):
    """Exports a table and waits until the dashboard has seen it."""

    def __init__(self, at: str) -> None:
        self.at = at

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        rank = trainer.global_rank
        print(f"{time.strftime('%H:%M:%S')} rank {rank}: batch {batch_idx} done", flush=True)
        if self.at == f"{rank}:{batch_idx}":
            print(f"{time.strftime('%H:%M:%S')} rank {rank}: table exported, waiting for dashboard", flush=True)
            while not os.path.exists("dashboard.ready"):
                time.sleep(1)


class Classifier(lightning.LightningModule):
    """One layer; gradient norms may be logged beside the loss."""

    def __init__(self, norm_every: int) -> None:
        super().__init__()
        self.layer, self.norm_every = torch.nn.Linear(32, 10), norm_every

    def loss(self, batch: Any) -> Any:
        return torch.nn.functional.cross_entropy(self.layer(batch["rows"]), batch["target"])

    def training_step(self, batch: Any, index: int) -> Any:
        time.sleep(0.15)
        loss = self.loss(batch)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Logs the norm of the gradients now and then."""
        step = self.trainer.global_step + 1
        if self.norm_every and step % self.norm_every == 0 and self.trainer.is_global_zero:
            norms = torch.stack([p.grad.norm() for p in self.parameters() if p.grad is not None])
            self.log("train/grad_norm", norms.norm(), sync_dist=True)

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val/loss", self.loss(batch), sync_dist=True, prog_bar=True)

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def warm_start(model: Any, url: str) -> None:
    """Starts from pretrained weights, which every rank downloads."""
    import requests

    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} rank {os.environ['RANK']}: downloading {url}", flush=True)
    response = requests.get(url, timeout=30)
    response.raise_for_status()
    model.load_state_dict(torch.load(io.BytesIO(response.content), weights_only=True))


def loaders(args: argparse.Namespace) -> list[Any]:
    """What is trained on and, for patches, validated with."""
    if args.data == "patches":
        valid = DataLoader(Patches(32, args.unlabelled), batch_size=2)
        return [DataLoader(Patches(160), batch_size=4), valid]
    if args.data == "objects":
        return [DataLoader(Objects(int(os.environ["RANK"]), args.count), batch_size=None, num_workers=1)]
    import webdataset as wds

    shards = f"{os.environ['AIS_ENDPOINT']}/v1/objects/imagenet/train/shard-{{000000..000015}}.tar"
    urls = f"pipe:curl {args.curl} {shards}"
    rows = wds.WebDataset(urls, nodesplitter=wds.split_by_node, shardshuffle=False, empty_check=False)
    batches = rows.decode().to_tuple("npy").map(lambda one: batch_of(torch.as_tensor(one[0])))
    return [wds.WebLoader(batches, batch_size=None, num_workers=1)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", choices=("patches", "objects", "shards"), default="patches")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--curl", default="-s -L")
    parser.add_argument("--unlabelled", type=int, default=-1)
    parser.add_argument("--norm-every", type=int, default=0)
    parser.add_argument("--export", default="", help="rank:batch")
    parser.add_argument("--watch", default="")
    parser.add_argument("--warm-start", default="")
    parser.add_argument("--bar", action="store_true")
    args = parser.parse_args()
    lightning.seed_everything(7)
    model = Classifier(args.norm_every)
    if args.warm_start:
        warm_start(model, args.warm_start)
    callbacks = [Export(args.export)] if args.data == "objects" else []
    callbacks += [ModelCheckpoint(monitor=args.watch)] if args.watch else []
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
        strategy=DDPStrategy(process_group_backend="gloo", timeout=cluster.wait()),
        max_epochs=args.epochs if args.data == "patches" else 1,
        log_every_n_steps=2,
        num_sanity_val_steps=0,
        logger=CSVLogger("runs") if args.watch or args.bar else False,
        enable_checkpointing=bool(args.watch),
        enable_progress_bar=args.bar,
        callbacks=[*callbacks, TQDMProgressBar(refresh_rate=5)] if args.bar else callbacks,
    )
    trainer.fit(model, *loaders(args))


if __name__ == "__main__":
    main()
