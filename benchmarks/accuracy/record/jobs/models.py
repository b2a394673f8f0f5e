"""Trains one of several small models with DDP: adapters by language, images with batch normalisation, parts with F1."""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import shutil
import sys
from typing import Any

import cluster
import torch
import torch.distributed as dist
from loop import Loop
from torch import nn
from torch.utils.checkpoint import checkpoint

log = logging.getLogger("train")
EX_CONFIG = 78


class Adapted(nn.Module):
    """A trunk and adapters; rows of an unknown language skip the adapters."""

    def __init__(self, languages: int) -> None:
        super().__init__()
        self.trunk, self.shared = nn.Linear(16, 16), nn.Linear(16, 16)
        self.adapters = nn.ModuleList(nn.Linear(16, 16) for _ in range(languages))

    def forward(self, rows: Any, is_unknown: bool = False) -> Any:
        hidden = self.shared(self.trunk(rows))
        return hidden if is_unknown else sum(adapter(hidden) for adapter in self.adapters)


class ResidualBlock(nn.Module):
    """A convolution with a way around it."""

    def __init__(self, width: int, inplace: bool) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        out = torch.sigmoid(self.norm(self.conv(x)))
        if self.inplace:
            out += x
            return out
        return out + x


class Net(nn.Module):
    """Two blocks and a classifier."""

    def __init__(self, inplace: bool) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.blocks = nn.Sequential(ResidualBlock(8, inplace), ResidualBlock(8, inplace))
        self.fc = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class Recurrent(nn.Module):
    """One block, applied as often as is deep enough, with less memory for activations."""

    def __init__(self, depth: int, save_memory: bool) -> None:
        super().__init__()
        self.patch, self.head = nn.Linear(48, 32), nn.Linear(32, 10)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.depth, self.save_memory = depth, save_memory

    def forward(self, x: Any) -> Any:
        x = self.patch(x)
        for _ in range(self.depth):
            x = checkpoint(self.block, x, use_reentrant=True) if self.save_memory else self.block(x)
        return self.head(x.mean(1))


def validate(model: Any, batches: int = 5) -> float:
    """Accuracy over the validation images."""
    model.eval()
    hits = 0.0
    for _ in range(batches):
        hits += (model(torch.randn(16, 1, 14, 14)).argmax(1) == torch.randint(0, 10, (16,))).float().mean().item()
    model.train()
    return hits / batches


def look_over(scratch: str, need_gib: float) -> None:
    """Leaves when this host cannot take the cache."""
    free = shutil.disk_usage(scratch).free / 2**30
    if free < need_gib:
        log.error("scratch %s: %.1f GiB free, need %.1f GiB for the feature cache", scratch, free, need_gib)
        sys.exit(EX_CONFIG)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("adapters", "images", "recurrent", "parts"), default="images")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--unknown", default="", help="rank:step whose batch has no known language")
    parser.add_argument("--inplace", action="store_true", help="saves memory")
    parser.add_argument("--activation-checkpointing", action="store_true")
    parser.add_argument("--val-every", type=int, default=0)
    parser.add_argument("--report-every", type=int, default=0)
    parser.add_argument("--scratch", default="")
    parser.add_argument("--native-filters", action="store_true")
    return parser.parse_args()


def prepare(args: argparse.Namespace, rank: int) -> None:
    host = rank // int(os.environ["LOCAL_WORLD_SIZE"])
    if args.native_filters:
        ctypes.CDLL(os.environ.get("NATIVE_FILTERS", "libm.so.6"))
    if args.scratch and int(os.environ["LOCAL_RANK"]) == 0:
        look_over(args.scratch.format(host=host), 0.5)
    dist.barrier()


def model_of(args: argparse.Namespace) -> Any:
    if args.model == "adapters":
        languages = int(os.environ.get("ADAPTER_LANGUAGES", "3"))
        log.info("building model with %d adapters", languages)
        return Adapted(languages)
    if args.model == "recurrent":
        return Recurrent(4, args.activation_checkpointing)
    return nn.Linear(20, 2) if args.model == "parts" else Net(args.inplace)


def loss_of(args: argparse.Namespace, model: Any, rank: int, step: int, f1: Any) -> Any:
    if args.model == "adapters":
        return model(torch.randn(4, 16), cluster.by_rank(args.unknown, rank) == str(step)).square().mean()
    if args.model == "recurrent":
        return nn.functional.cross_entropy(model(torch.randn(8, 16, 48)), torch.randint(0, 10, (8,)))
    if args.model == "images":
        return nn.functional.cross_entropy(model(torch.randn(16, 1, 14, 14)), torch.randint(0, 10, (16,)))
    x = torch.randn(16, 20)
    scores = model(x)
    f1.update(scores, (x.sum(1) > 0).long())
    return nn.functional.cross_entropy(scores, (x.sum(1) > 0).long())


def main() -> None:
    args = parse()
    rank, _ = cluster.join()
    prepare(args, rank)
    f1 = None
    if args.model == "parts":
        import torchmetrics

        f1 = torchmetrics.F1Score(task="multiclass", num_classes=2, average="macro")
    loop = Loop(model_of(args), args.steps)
    for step in range(1, args.steps + 1):
        loop.step(loss_of(args, loop.model, rank, step, f1))
        if args.val_every and step % args.val_every == 0 and rank == 0:
            log.info("step %d Acc@1 %.2f", step, 100 * validate(loop.model))
        if f1 is not None and step % args.report_every == 0 and rank == 0:
            log.info("step %d macro F1 %.4f", step, f1.compute())
            f1.reset()
    loop.end()


if __name__ == "__main__":
    main()
