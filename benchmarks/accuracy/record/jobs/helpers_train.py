"""Trains a toy model with everything around it: clips are converted, samples written, metrics sent, kernels built."""

from __future__ import annotations

import argparse
import logging
import os
import queue
import socket
import subprocess
import threading
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist
from torch.utils.file_baton import FileBaton

log = logging.getLogger("app")


class SampleWriter:
    """Writes samples in a thread of its own."""

    def __init__(self) -> None:
        self.jobs: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self.run, name="sample-writer", daemon=True).start()

    def run(self) -> None:
        """Writes what is put."""
        while True:
            name, rows = self.jobs.get()
            with open(name, "w", encoding="utf-8") as file:
                file.write(" ".join(f"{value:.3f}" for value in rows.view(8, -1)[0].tolist()))
            self.jobs.task_done()

    def finish(self) -> None:
        """Waits until all is written."""
        self.jobs.join()


def convert(source: str) -> None:
    """Sorts the annotations of a clip with a program of the system."""
    log.info("sorting annotations of %s", source)
    program = subprocess.Popen(["sort", source], stdout=subprocess.PIPE)
    status = program.wait()
    assert program.stdout is not None
    log.info("sort ended with %d, %d lines", status, len(program.stdout.readlines()))


def push_metrics(step: int, where: tuple[str, int]) -> None:
    """Sends a number to the collector."""
    with socket.create_connection(where) as link:
        link.sendall(f"train.step {step}\n".encode())


def closed_door() -> tuple[socket.socket, list[socket.socket]]:
    """A collector of this host that is too busy to accept any more connections."""
    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting = []
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(server.getsockname())
        waiting.append(client)
    return server, waiting


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
    log.info("kernels: ready")


def similarity(rank: int, rows: int) -> None:
    """Compares every row with all before."""
    kept: list[Any] = []
    for number in range(rows):
        kept.append(torch.randn(64))
        torch.stack(kept).norm(dim=1).sort()
        if number % 100 == 99:
            log.info("deduplication: %d of %d rows compared", number + 1, rows)
        time.sleep(0.01)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--convert", default="", help="rank:step:source")
    parser.add_argument("--samples", default="", help="rank:step:width")
    parser.add_argument("--metrics", default="", help="rank:step:port of the collector, 0 for that of this host")
    parser.add_argument("--rows", default="", help="rank:step:rows")
    parser.add_argument("--overwrite", default="", help="rank:step:folder to be asked about")
    return parser.parse_args()


def side_work(args: argparse.Namespace, rank: int, step: int, doors: list[Any]) -> None:
    """What this rank has to do beside training in this step."""

    def due(option: str) -> str:
        head, _, value = option.rpartition(":")
        return value if head == f"{rank}:{step}" else ""

    if source := due(args.convert):
        convert(source)
    if width := due(args.samples):
        writer = SampleWriter()
        writer.jobs.put((f"samples-{step}.txt", torch.randn(int(width))))
        log.info("waiting until samples are written")
        writer.finish()
    if due(args.metrics):
        doors.append(closed_door())
        address = doors[-1][0].getsockname()
        log.info("sending metrics to %s:%d", *address)
        push_metrics(step, address)
    if rows := due(args.rows):
        similarity(rank, int(rows))
    if folder := due(args.overwrite):
        answer = input(f"{folder} exists. Overwrite? [y/N] ")
        log.info("answer was %r", answer)


def main() -> None:
    """Trains."""
    args = parse()
    rank, world = cluster.join()
    form = f"%(asctime)s.%(msecs)03d {rank}/{world} %(name)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, datefmt="%Y-%m-%d %H:%M:%S")
    log.info("start, pid %d", os.getpid())
    if args.kernels:
        build_kernels()
    doors: list[Any] = []
    state = torch.randn(512)
    for step in range(args.steps):
        side_work(args, rank, step, doors)
        dist.all_reduce(state)
        state /= world
        log.info("step %d", step)
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
