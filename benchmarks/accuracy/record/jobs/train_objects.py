"""Trains a small classifier on arrays in an object store, read by a client of choice, in the rank or in loaders."""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import io
import json
import logging
import os
import signal
import sys
import threading
import time
from datetime import timedelta
from typing import Any

import cluster
import numpy as np
import torch
import torch.distributed as dist
from loop import Loop, classify
from readers import add_options, reader_of, s3_client, sdk_client
from torch.utils.data import DataLoader, Dataset, get_worker_info

log = logging.getLogger("train")


class Parts(Dataset):
    """One item is one object: 16 rows of 33 numbers, the last one a label."""

    def __init__(self, args: argparse.Namespace, names: list[str]) -> None:
        self.args, self.names = args, names
        self.read: Any = None
        self.kept: list[Any] = []

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Any:
        self.read = self.read or reader_of(self.args)
        name, began = self.names[index], time.perf_counter()
        try:
            raw = self.read(f"{os.environ.get('BUCKET', self.args.bucket)}/{name}")
            self.check(name, raw)
            rows = torch.from_numpy(np.load(io.BytesIO(raw))).float()
        except Exception:
            if not self.args.leave_out:
                raise
            log.exception("%s cannot be used, another one is taken", name)
            rows = torch.zeros(16, 33)
        if (spent := time.perf_counter() - began) > 1:
            log.warning("slow read: %s took %.2f s", name, spent)
        if self.args.keep_mib:
            self.kept.append(np.ones((self.args.keep_mib, 1 << 20), dtype=np.uint8))
        return rows, torch.zeros(self.args.crop_mib, 1 << 18)

    def check(self, name: str, raw: bytes) -> None:
        """Compares with the digest that was listed."""
        if self.args.digests:
            with open(self.args.digests, encoding="utf-8") as file:
                wanted = json.load(file).get(name)
            if wanted and (found := hashlib.md5(raw).hexdigest()) != wanted:
                raise OSError(f"{name}: md5 is {found}, the list says {wanted}")


def pin_worker(worker_id: int) -> None:
    """Binds a worker to a processor and seeds its augmentation."""
    info = get_worker_info()
    assert info is not None
    cores = [int(one) for one in os.environ.get("LOADER_CORES", "0,1").split(",")]
    os.sched_setaffinity(0, {cores[worker_id % len(cores)]})
    np.random.seed(info.seed % 2**32)


class Metrics:
    """Appends one JSON line a step; now and then with the norm of the gradient."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, step: int, loss: float, grad_norm: Any) -> None:
        row = {"step": step, "loss": loss, **({"grad_norm": grad_norm} if step and step % 9 == 0 else {})}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


class Events:
    """Counts events under a lock; hands them over when there are many."""

    def __init__(self, flush_at: int) -> None:
        self.flush_at = flush_at
        self.lock = threading.Lock()
        self.events: list[str] = []

    def add(self, event: str) -> None:
        with self.lock:
            self.events.append(event)
            if len(self.events) >= self.flush_at:
                self.flush()

    def flush(self) -> None:
        with self.lock:
            self.events.clear()


class StepGuard(threading.Thread):
    """Aborts, with the stacks of all threads, when no step was done for so long."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(name="step-guard", daemon=True)
        self.limit_s, self.last = limit_s, time.monotonic()

    def run(self) -> None:
        while time.monotonic() - self.last < self.limit_s:
            time.sleep(0.5)
        log.critical("no step for %.0f s, aborting", time.monotonic() - self.last)
        os.abort()


def names_of(args: argparse.Namespace, rank: int, world: int) -> list[str]:
    """The objects of this rank: of its list, of a listing by the first rank, or by their numbers."""
    if args.lists:
        with open(args.lists.format(rank=rank), encoding="utf-8") as file:
            return file.read().split()
    if not args.list_bucket:
        return [f"train/{rank}/part-{number:05d}.npy" for number in range(args.count)]
    given: list[Any] = [None]
    if rank == 0:
        log.info("listing %s", args.bucket)
        bucket = sdk_client(os.environ["AIS_ENDPOINT"], args).bucket(args.bucket)
        given[0] = sorted(entry.name for entry in bucket.list_all_objects(prefix="train/"))
    dist.broadcast_object_list(given)
    return list(given[0])[rank::world]


def best_of(losses: list[float], wanted: float) -> int:
    """The step of the last loss that was low enough."""
    for step, loss in enumerate(losses):
        if loss < wanted:
            best = step
    return best


def upload(rank: int, step: int, model: Any, args: argparse.Namespace) -> None:
    """Stores the weights of a rank as an object."""
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    key = f"run-17/step_{step:05d}_rank{rank}.pt"
    log.info("uploading checkpoints/%s, %d bytes", key, buffer.tell())
    url = os.environ["AIS_ENDPOINT"]
    if args.client == "sdk":
        client = sdk_client(url, args)
        client.bucket("checkpoints").object(key).get_writer().put_content(buffer.getvalue())
    else:
        s3_client(url, 60, args.attempts).put_object(Bucket="checkpoints", Key=key, Body=buffer.getvalue())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    parser.add_argument("--bucket", default="speech-v3")
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--lists", default="")
    parser.add_argument("--list-bucket", action="store_true")
    parser.add_argument("--digests", default="")
    parser.add_argument("--leave-out", action="store_true", help="objects that cannot be used")
    parser.add_argument("--share", action="store_true", help="the first rank reads for all")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--loader-timeout", type=float, default=0)
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--keep-mib", type=int, default=0)
    parser.add_argument("--crop-mib", type=int, default=0)
    parser.add_argument("--metrics", default="")
    parser.add_argument("--flush-at", default="", help="rank:events, where the default is too large")
    parser.add_argument("--step-limit", type=float, default=0)
    parser.add_argument("--upload-every", type=int, default=0)
    parser.add_argument("--upload-by", choices=("first", "all"), default="first")
    parser.add_argument("--report-at", type=int, default=0)
    parser.add_argument("--teacher-at", type=int, default=0)
    parser.add_argument("--pairs-at", type=int, default=0)
    parser.add_argument("--max-hours", default=os.environ.get("MAX_HOURS", "1000"))
    parser.add_argument("--more-steps", type=int, default=12, help="on the last rows")
    parser.add_argument("--answer-signals", action="store_true")
    parser.add_argument("--find-unused", action="store_true")
    return parser.parse_args()


def after_step(args: argparse.Namespace, loop: Loop, rank: int, losses: list[float]) -> None:
    """What is due after a step beside training."""
    step = loop.done
    if args.report_at == step and rank == dist.get_world_size() - 1:
        log.info("best step so far %d", best_of(losses, 0.1))
    if args.pairs_at == step and rank == 0:
        assert len(losses) % 3 == 0, f"{len(losses)} losses do not divide evenly"
    if args.teacher_at == step and rank == 0:
        log.info("loading teacher weights into the student")
        loop.model.module.load_state_dict(torch.nn.Sequential(torch.nn.Linear(32, 10)).state_dict())
    if step % 8 == 0:
        log.info("%.1f%% of the hours heard", 100 * step / int(args.max_hours))
    if args.upload_every and step % args.upload_every == 0:
        if args.upload_by == "all" or rank == 0:
            upload(rank, step, loop.model, args)
        dist.monitored_barrier(timeout=timedelta(seconds=12), wait_all_ranks=True)


def train(args: argparse.Namespace, loop: Loop, loader: Any, rank: int) -> None:
    """One epoch, and some steps more on its last rows."""
    events = Events(int(cluster.by_rank(args.flush_at, rank) or 100_000))
    metrics = Metrics(args.metrics) if args.metrics and rank == 0 else None
    guard = StepGuard(args.step_limit)
    if args.step_limit:
        guard.start()
    losses: list[float] = []
    batches = iter(loader)
    rows, crop = torch.zeros(16, 33), torch.zeros(1)
    for number in range(len(loader) + args.more_steps):
        if number < len(loader) and (rank == 0 or not args.share):
            rows, crop = next(batches)
        if args.share:
            dist.broadcast(rows, 0)
        losses.append(loop.step(classify(loop.model, rows) + 0 * crop.sum()))
        guard.last = time.monotonic()
        norm = torch.nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
        if metrics is not None:
            metrics.write(number, losses[-1], norm)
        events.add(f"batch {number}")
        after_step(args, loop, rank, losses)


def main() -> None:
    args = parse()
    if args.step_limit:
        faulthandler.enable()
    if args.answer_signals:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rank, world = cluster.join()
    names = names_of(args, rank, world)
    log.info("%d objects of %s", len(names), args.bucket)
    loop = Loop(torch.nn.Linear(32, 10), len(names) + args.more_steps, find_unused_parameters=args.find_unused)
    loader = DataLoader(
        Parts(args, names),
        batch_size=None,
        num_workers=args.workers,
        timeout=args.loader_timeout,
        worker_init_fn=pin_worker if args.pin else None,
    )
    train(args, loop, loader, rank)
    loop.end()


if __name__ == "__main__":
    main()
