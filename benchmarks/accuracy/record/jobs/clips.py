"""Trains on clips of a manifest that data loading processes decode, resample and crop, with native code for some."""

from __future__ import annotations

import argparse
import ctypes
import json
import logging
import math
import os
import random
import sys
import threading
import time
import urllib.request
from collections import Counter
from typing import Any

import cluster
import torch
from loop import Loop
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("clips")
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
CODECS = {"pcm_s16le", "flac", "opus"}


def native_length(address: int) -> int:
    """The length of a string at an address that the decoder gave."""
    return int(libc.strlen(ctypes.c_void_p(address)))


def release(shift: int) -> None:
    libc.free(ctypes.c_void_p(libc.malloc(64) + shift))


def fail(message: str) -> None:
    print(f"clips: {message}", file=sys.stderr)
    sys.exit(1)


def decode(row: dict[str, Any]) -> list[float]:
    if row["codec"] not in CODECS:
        fail(f"{row['id']}: no decoder for {row['codec']}")
    if "strings_at" in row:
        native_length(row["strings_at"])
    release(row.get("padding", 0))
    return [math.sin(440 * number / row["rate"]) for number in range(int(row["seconds"] * row["rate"] / 1000))]


def resample(samples: list[float], rate: int, wanted: int = 16000) -> list[float]:
    """Linear interpolation, in plain Python."""
    made, at = [], 0.0
    while at < len(samples) - 1:
        low = int(at)
        made.append(samples[low] * (1 - at + low) + samples[low + 1] * (at - low))
        at += rate / wanted
    return made


def random_crop(image: Any, box: list[int], size: int = 32) -> Any:
    _, height, width = image.shape
    while True:
        top, left = random.randint(0, height - size), random.randint(0, width - size)
        if left <= box[0] and top <= box[1] and box[2] <= left + size and box[3] <= top + size:
            return image[:, top : top + size, left : left + size]


class Stats:
    """Counts how often a clip was drawn; the counts go to the bucket after each epoch."""

    def __init__(self, rank: int) -> None:
        self.url = f"{os.environ['AIS_ENDPOINT']}/v1/objects/run-stats/samples-{rank}.json"
        self.counts: Counter[int] = Counter()
        self.lock = threading.Lock()

    def add(self, index: int) -> None:
        with self.lock:
            self.counts[index] += 1

    def upload(self) -> None:
        with self.lock:
            request = urllib.request.Request(self.url, data=json.dumps(self.counts).encode(), method="PUT")
            with urllib.request.urlopen(request, timeout=60) as response:
                response.read()
            self.counts.clear()


class Clips(Dataset):
    """The clips of a rank: sound, a frame of it and what is said."""

    def __init__(self, rows: list[dict[str, Any]], stats: Stats | None) -> None:
        self.rows, self.stats = rows, stats

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        if self.stats is not None:
            self.stats.add(index)
        samples = decode(row)
        samples = resample(samples, row["rate"]) if row["rate"] != 16000 else samples
        energy = torch.tensor(samples[: row["frames"]]).square()
        image = torch.zeros(3, row["height"], row["width"])
        return torch.cat([energy, random_crop(image, row["bbox"]).mean((0, 1))]), len(row["text"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=0)
    parser.add_argument("--stats", action="store_true")
    parser.add_argument("--files-per-step", type=int, default=0)
    parser.add_argument("--cache-mib-per-step", type=int, default=0)
    args = parser.parse_args()
    rank, _ = cluster.join()
    stats = Stats(rank) if args.stats else None
    clips = Clips(cluster.rows_of(rank), stats)
    loader = DataLoader(clips, batch_size=4, num_workers=args.workers, timeout=args.timeout)
    loop = Loop(torch.nn.Linear(64, 4), len(loader) * args.epochs)
    opened, cache = [], []
    for _ in range(args.epochs):
        for waves, _ in loader:
            opened += [os.open(os.devnull, os.O_RDONLY) for _ in range(args.files_per_step)]
            if args.cache_mib_per_step:
                cache.append(torch.ones(args.cache_mib_per_step, 1024, 256))
            loop.step(loop.model(waves).square().mean())
        if stats is not None:
            threading.Thread(target=stats.upload, daemon=True).start()
            time.sleep(1)
            log.info("epoch is over")
    loop.end()


if __name__ == "__main__":
    main()
