"""Trains with a background thread that prepares batches and another that writes metrics, as many home-made loops do."""

from __future__ import annotations

import argparse
import logging
import os
import queue
import threading
import time
from typing import Any

import cluster
import requests
import torch
import torch.distributed as dist
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry


class Prefetcher:
    """Prepares batches in a thread; the consumer takes them from a queue."""

    def __init__(self, rank: int, widths: dict[tuple[int, int], int]) -> None:
        self.rank, self.widths = rank, widths
        self.ready: queue.Queue[Any] = queue.Queue(maxsize=2)
        threading.Thread(target=self.fill, name="prefetch", daemon=True).start()

    def fill(self) -> None:
        """Prepares batch after batch."""
        for number in range(10_000):
            values = torch.randn(self.widths.get((self.rank, number), 128))
            self.ready.put(values.reshape(8, 16))

    def next(self) -> Any:
        """The next batch."""
        return self.ready.get()


class MetricWriter:
    """Counts events under a lock and pushes them to a server; flushes when there are many."""

    def __init__(self, url: str, flush_at: int) -> None:
        self.url, self.flush_at = url, flush_at
        self.lock = threading.Lock()
        self.events: list[str] = []
        self.session = requests.Session()
        self.session.mount("http://", HTTPAdapter(max_retries=Retry(total=4, backoff_factor=0.2)))

    def add(self, event: str) -> None:
        """Keeps an event."""
        with self.lock:
            self.events.append(event)
            if len(self.events) >= self.flush_at:
                self.flush()

    def flush(self) -> None:
        """Hands the events over."""
        with self.lock:
            self.events.clear()

    def fetch_shard(self, name: str) -> int:
        """The size of a shard that is looked at before it is used."""
        return len(self.session.get(f"{self.url}/v1/objects/corpus/{name}", timeout=10).content)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--odd-widths", default="", help="rank:batch:width, the recordings that are cut differently")
    parser.add_argument("--flush-at", default="", help="rank:events, where the default is too large")
    parser.add_argument("--shards", type=int, default=0)
    args = parser.parse_args()
    rank, world = cluster.join()
    logging.basicConfig(level=logging.WARNING, format=f"%(asctime)s %(levelname)s worker {rank} %(name)s: %(message)s")
    numbers = [tuple(map(int, one.split(":"))) for one in args.odd_widths.split(",") if one]
    feed = Prefetcher(rank, {(one[0], one[1]): one[2] for one in numbers})
    pairs = (one.split(":") for one in args.flush_at.split(",") if one)
    flush_at = {int(key): int(value) for key, value in pairs}
    writer = MetricWriter(os.environ["AIS_ENDPOINT"], flush_at.get(rank, 100_000))
    weight = torch.zeros(16)
    print(f"{time.strftime('%H:%M:%S')} worker {rank} of {world} starts", flush=True)
    for step in range(40):
        if step < args.shards:
            size = writer.fetch_shard(f"shard-{rank}-{step:03d}.bin")
            print(f"{time.strftime('%H:%M:%S')} worker {rank}: shard {step} has {size} bytes", flush=True)
        gradient = feed.next().mean(0) + weight
        dist.all_reduce(gradient)
        weight -= 0.1 * gradient / world
        print(f"{time.strftime('%H:%M:%S')} worker {rank}: batch {step} done", flush=True)
        writer.add(f"batch {step}")
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
