"""Trains with a cache of features in SQLite, one a node, which the first rank of a node prunes after each epoch."""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
import zlib
from typing import Any

import cluster
import torch
import torch.distributed as dist


class Cache:
    """Features by their key, on the disk of the node."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS features (key TEXT PRIMARY KEY, body BLOB, crc INTEGER)")
        self.connection.commit()

    def get(self, key: str) -> Any:
        """The features of a key; what is missing is computed and kept."""
        row = self.connection.execute("SELECT body FROM features WHERE key = ?", (key,)).fetchone()
        if row is None:
            body = torch.randn(32).numpy().tobytes()
            with self.connection:
                self.connection.execute("INSERT INTO features VALUES (?, ?, ?)", (key, body, zlib.crc32(body)))
        else:
            body = row[0]
        return torch.frombuffer(bytearray(body), dtype=torch.float32)

    def fill(self, count: int) -> None:
        """What earlier runs on this node left."""
        rows = ((f"old-{number}", bytes(128), zlib.crc32(bytes(128))) for number in range(count))
        with self.connection:
            self.connection.executemany("INSERT OR IGNORE INTO features VALUES (?, ?, ?)", rows)

    def prune(self) -> int:
        """Deletes entries whose checksum is wrong; returns how many there were to check."""
        self.connection.execute("BEGIN IMMEDIATE")
        keys = [row[0] for row in self.connection.execute("SELECT key FROM features")]
        for key in keys:
            body, crc = self.connection.execute("SELECT body, crc FROM features WHERE key = ?", (key,)).fetchone()
            if zlib.crc32(body) != crc:
                self.connection.execute("DELETE FROM features WHERE key = ?", (key,))
            time.sleep(0.002)
        self.connection.commit()
        return len(keys)


def main() -> None:
    """Trains a few epochs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12)
    args = parser.parse_args()
    rank, world = cluster.join()
    local = int(os.environ["LOCAL_RANK"])
    node = rank // int(os.environ["LOCAL_WORLD_SIZE"])
    tag = f"[node {node} gpu {local}]"
    if local == 0:
        Cache(f"features-{node}.db").fill(int(os.environ.get("CACHED_ALREADY", "50")))
    dist.barrier()
    cache = Cache(f"features-{node}.db")
    weight = torch.zeros(32)
    for epoch in range(args.epochs):
        for step in range(args.steps):
            batch = torch.stack([cache.get(f"{rank}/{epoch}/{4 * step + sample}") for sample in range(4)])
            gradient = batch.mean(0) + 0.1 * weight
            dist.all_reduce(gradient)
            weight -= 0.1 / world * gradient
            if step % 4 == 0:
                print(f"{time.strftime('%X')} {tag} epoch {epoch} step {step} |w| {weight.norm():.4f}", flush=True)
            time.sleep(0.15)
        if local == 0:
            print(f"{time.strftime('%X')} {tag} pruning {cache.path}", flush=True)
            count = cache.prune()
            print(f"{time.strftime('%X')} {tag} {count} entries checked", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
