"""Trains a tiny detector in the style of PyTorch's ImageNet example; annotations are JSON lines, images are drawn."""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import threading
import time
import urllib.request
from collections import Counter
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

logger = logging.getLogger("detect")


class SampleStats:
    """Counts how often a sample was drawn; the counts go to the bucket after each epoch."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.counts: Counter[int] = Counter()
        self.lock = threading.Lock()

    def add(self, index: int) -> None:
        """Counts a sample."""
        with self.lock:
            self.counts[index] += 1

    def upload(self) -> None:
        """Sends the counts and starts anew."""
        with self.lock:
            body = json.dumps(self.counts).encode()
            request = urllib.request.Request(self.url, data=body, method="PUT")
            with urllib.request.urlopen(request, timeout=60) as response:
                response.read()
            self.counts.clear()


def random_crop(image: Any, box: list[int], size: int) -> Any:
    """A crop that holds the whole box."""
    _, height, width = image.shape
    while True:
        top = random.randint(0, height - size)
        left = random.randint(0, width - size)
        if left <= box[0] and top <= box[1] and box[2] <= left + size and box[3] <= top + size:
            return image[:, top : top + size, left : left + size]


class Boxes(Dataset):
    """Images with one box each."""

    def __init__(self, path: str, crop: int, stats: SampleStats) -> None:
        self.crop, self.stats = crop, stats
        with open(path, encoding="utf-8") as f:
            self.rows = [json.loads(line) for line in f]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Any:
        row = self.rows[i]
        image = torch.zeros(row.get("channels", 3), row["height"], row["width"])
        x0, y0, x1, y1 = row["bbox"]
        image[:, y0:y1, x0:x1] = 1.0
        self.stats.add(i)
        return random_crop(image, row["bbox"], self.crop), row["label"]


def validate(model: Any, crop: int) -> None:
    """A few batches without gradients."""
    with torch.no_grad():
        for _ in range(5):
            model.module(torch.zeros(4, 3, crop, crop))
            time.sleep(0.2)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ann", default="annotations/train.jsonl")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", "-j", type=int, default=1)
    parser.add_argument("--crop", type=int, default=32)
    parser.add_argument("--print-freq", type=int, default=2)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")
    logger.info("world size %d, %s", world, vars(args))
    stats = SampleStats(f"{os.environ['AIS_ENDPOINT']}/v1/objects/run-stats/samples-{rank}.json")
    dataset = Boxes(args.ann, args.crop, stats)
    sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=args.workers)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, 4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(10))
    net(torch.zeros(1, 3, args.crop, args.crop))
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        end = time.time()
        for i, (images, target) in enumerate(loader):
            data_time = time.time() - end
            loss = torch.nn.functional.cross_entropy(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.15)
            if i % args.print_freq == 0:
                logger.info(
                    "Epoch: [%d][%2d/%d]\tTime %6.3f\tData %6.3f\tLoss %.4e",
                    epoch, i, len(loader), time.time() - end, data_time, loss.item(),
                )  # fmt: skip
            end = time.time()
        threading.Thread(target=stats.upload, daemon=True).start()
        validate(model, args.crop)
        loss = loss.detach()
        dist.all_reduce(loss)
        logger.info(" * epoch %d mean loss %.4f", epoch, loss.item() / world)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
