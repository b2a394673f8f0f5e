"""Trains a toy model with everything around it: clips are sorted, samples written, metrics sent, caches kept."""

from __future__ import annotations

import argparse
import csv
import faulthandler
import json
import logging
import multiprocessing
import os
import queue
import socket
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import cluster
import torch
import torch.distributed as dist
from loop import Loop
from torch.utils.file_baton import FileBaton

log = logging.getLogger("app")


class SampleWriter:
    """Writes samples in a thread of its own."""

    def __init__(self) -> None:
        self.jobs: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self.run, name="sample-writer", daemon=True).start()

    def run(self) -> None:
        while True:
            name, rows = self.jobs.get()
            Path(name).write_text(json.dumps(rows.view(8, -1)[0].tolist()), "utf-8")
            self.jobs.task_done()


class Prefetcher:
    """Prepares batches in a thread; the loop takes them from a queue."""

    def __init__(self, odd: int, width: int) -> None:
        self.odd, self.width = odd, width
        self.ready: queue.Queue[Any] = queue.Queue(maxsize=2)
        threading.Thread(target=self.fill, name="prefetch", daemon=True).start()

    def fill(self) -> None:
        for number in range(10_000):
            values = torch.randn(self.width if number == self.odd else 128)
            self.ready.put(values.reshape(8, 16))


class Cache:
    """Features by their key in SQLite, one a node, which its first rank prunes in one transaction."""

    def __init__(self, path: str, count: int = 0) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS features (key TEXT PRIMARY KEY, body BLOB)")
        with self.connection:
            rows = ((f"old-{number}", bytes(128)) for number in range(count))
            self.connection.executemany("INSERT OR IGNORE INTO features VALUES (?, ?)", rows)

    def keep(self, key: str) -> None:
        with self.connection:
            self.connection.execute("INSERT INTO features VALUES (?, ?)", (key, bytes(128)))

    def prune(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        for (key,) in self.connection.execute("SELECT key FROM features").fetchall():
            self.connection.execute("SELECT body FROM features WHERE key = ?", (key,)).fetchone()
            time.sleep(0.002)
        self.connection.commit()


class Schedule:
    """A rate that falls, and a table of what happened."""

    def __init__(self, folder: str) -> None:
        self.rate = 0.05
        self.history: Any = None
        if folder:
            Path(folder).mkdir(exist_ok=True)
            self.history = csv.writer((Path(folder) / "history.csv").open("w", newline="", encoding="utf-8"))


def sort_annotations(source: str) -> None:
    """Sorts the annotations of a clip with a program of the system."""
    log.info("sorting annotations of %s", source)
    program = subprocess.Popen(["sort", source], stdout=subprocess.PIPE)
    status = program.wait()
    assert program.stdout is not None
    log.info("sort ended with %d, %d lines", status, len(program.stdout.readlines()))


def push_metrics(step: int) -> None:
    """Sends a number to the collector of this host, which is too busy to accept any more connections."""
    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting = [socket.socket() for _ in range(4)]
    for client in waiting:
        client.setblocking(False)
        client.connect_ex(server.getsockname())
    log.info("sending metrics to %s:%d", *server.getsockname())
    with socket.create_connection(server.getsockname()) as link:
        link.sendall(f"train.step {step}\n".encode())


def build_kernels() -> None:
    """Builds the kernels once a host; who finds a lock waits for the one who builds."""
    folder = os.environ.get("KERNEL_CACHE", "kernels")
    os.makedirs(folder, exist_ok=True)
    baton = FileBaton(os.path.join(folder, "lock"), warn_after_seconds=5)
    log.info("kernels: looking into %s", folder)
    if baton.try_acquire():
        time.sleep(1)
        baton.release()
    else:
        baton.wait()


def compare_rows(count: int) -> None:
    """Compares every row with all before."""
    kept: list[Any] = []
    for number in range(count):
        kept.append(torch.randn(64))
        torch.stack(kept).norm(dim=1).sort()
        if number % 100 == 99:
            log.info("deduplication: %d of %d rows compared", number + 1, count)
        time.sleep(0.01)


def copy_gently(megabytes: int, rate: int) -> None:
    """Copies a checkpoint to an archive at so many bytes a second, as the archive is shared."""
    log.info("copying encoder.pt to archive/ at %d kB/s", rate // 1000)
    with open("archive.pt", "wb") as kept:
        for _ in range(16 * megabytes):
            kept.write(bytes(65536))
            time.sleep(65536 / rate)


def tokenize(count: int, ids: Any) -> None:
    ids.put([[number % 96] * 900 for number in range(count)])


def load_shard(count: int) -> None:
    """Reads a shard in another process, so that the memory it takes is given back."""
    context = multiprocessing.get_context("fork")
    ids = context.Queue()
    process = context.Process(target=tokenize, args=(count, ids))
    process.start()
    process.join()
    log.info("%d lines", len(ids.get()))


def conformer(seed: int) -> list[float]:
    """Coordinates of a molecule, relaxed for a while."""
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        time.sleep(0.002)
    return [float(seed % 7)] * 4


def wait_for_list(path: Path) -> None:
    """Waits until the first rank has prepared the list of a rank."""
    waited = 0
    while not path.exists():
        time.sleep(1)
        waited += 1
        if waited % 4 == 0:
            log.warning("%s is not there yet, %d s", path, waited)


def prepare_lists(count: int, pause: float) -> None:
    for number in range(count):
        time.sleep(pause)
        Path(f"list-{number}.json").write_text("[]", "utf-8")


def write_events(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(text + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--sort", default="")
    parser.add_argument("--samples", default="")
    parser.add_argument("--metrics", default="")
    parser.add_argument("--rows", default="")
    parser.add_argument("--overwrite", default="")
    parser.add_argument("--copy", default="")
    parser.add_argument("--shard", default="")
    parser.add_argument("--width", default="")
    parser.add_argument("--copy-rate", type=int, default=20_000_000)
    parser.add_argument("--lists", type=int, default=0)
    parser.add_argument("--list-pause", type=float, default=0.2)
    parser.add_argument("--pool", action="store_true")
    parser.add_argument("--watchdog", type=float, default=0)
    parser.add_argument("--vocabulary", action="store_true")
    parser.add_argument("--cache", action="store_true")
    parser.add_argument("--run-dir", default="")
    parser.add_argument("--events", default="")
    return parser.parse_args()


def due_work(args: argparse.Namespace, rank: int, step: int) -> None:
    """What this rank has to do beside training at step 7."""
    if source := cluster.by_rank(args.sort, rank):
        sort_annotations(source)
    if width := cluster.by_rank(args.samples, rank):
        writer = SampleWriter()
        writer.jobs.put((f"samples-{step}.json", torch.randn(int(width))))
        log.info("waiting until samples are written")
        writer.jobs.join()
    if cluster.by_rank(args.metrics, rank):
        push_metrics(step)
    if count := cluster.by_rank(args.rows, rank):
        compare_rows(int(count))
    if folder := cluster.by_rank(args.overwrite, rank):
        log.info("answer was %r", input(f"{folder} exists. Overwrite? [y/N] "))
    if megabytes := cluster.by_rank(args.copy, rank):
        copy_gently(int(megabytes), args.copy_rate)
    if lines := cluster.by_rank(args.shard, rank):
        load_shard(int(lines))


def prepare(args: argparse.Namespace, rank: int) -> dict[str, Any]:
    """What is built before the first step."""
    kept: dict[str, Any] = {"feed": Prefetcher(7, int(cluster.by_rank(args.width, rank) or 128))}
    if args.kernels:
        build_kernels()
    if args.lists:
        if rank == 0:
            prepare_lists(args.lists, args.list_pause)
        wait_for_list(Path(f"list-{rank}.json"))
        dist.monitored_barrier(timeout=cluster.wait())
    if args.vocabulary:
        kept["vocabulary"] = multiprocessing.Manager().dict()
    if args.cache:
        path, is_first = f"features-{rank // int(os.environ['LOCAL_WORLD_SIZE'])}.db", os.environ["LOCAL_RANK"] == "0"
        if is_first:
            Cache(path, int(os.environ.get("CACHED_ALREADY", "50")))
        dist.barrier()
        kept["cache"] = Cache(path)
    if args.run_dir:
        kept["schedule"] = Schedule(args.run_dir if rank == 0 else "")
    return kept


def train_step(args: argparse.Namespace, rank: int, step: int, kept: dict[str, Any], pool: Any) -> Any:
    """The batch of a step, and what goes with it."""
    if args.watchdog:
        faulthandler.dump_traceback_later(args.watchdog)
    if step == 7:
        due_work(args, rank, step)
    if pool is not None:
        pool.map(conformer, range(4), chunksize=1)
    if "vocabulary" in kept:
        for number in range(30):
            kept["vocabulary"][f"w{step * number}"] = number
    if "cache" in kept:
        if step == 11 and os.environ["LOCAL_RANK"] == "0":
            log.info("pruning the cache")
            kept["cache"].prune()
        time.sleep(0.1)
        kept["cache"].keep(f"{rank}/{step}")
    if "schedule" in kept and step % 6 == 5:
        told = [kept["schedule"]]
        dist.broadcast_object_list(told, src=0)
    if args.events and step % 5 == 4:
        write_events(args.events.format(rank=rank), f"step {step}")
    return kept["feed"].ready.get()


def main() -> None:
    args = parse()
    pool = multiprocessing.get_context("fork").Pool(2) if args.pool else None
    rank, _ = cluster.join()
    kept = prepare(args, rank)
    loop = Loop(torch.nn.Linear(16, 4), args.steps, ddp=False)
    for step in range(args.steps):
        loop.step(loop.model(train_step(args, rank, step, kept, pool)).square().mean())
    faulthandler.cancel_dump_traceback_later()
    if pool is not None:
        pool.terminate()
    loop.end()


if __name__ == "__main__":
    main()
