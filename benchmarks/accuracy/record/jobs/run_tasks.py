"""Starts one process a rank with the ranks in its environment, as a batch system's launcher does, and waits for all."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time


def forward(task: subprocess.Popen[bytes], number: int) -> None:
    """Hands the lines of a task on, its number in front."""
    assert task.stdout is not None
    for line in task.stdout:
        sys.stdout.buffer.write(f"{number}: ".encode() + line.rstrip(b"\n") + b"\n")
        sys.stdout.buffer.flush()


def start(args: argparse.Namespace, local: int) -> subprocess.Popen[bytes]:
    rank = args.first + local
    world = os.environ.get("WORLD_SIZE", str(args.world))
    ranks = {"RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": str(args.count)}
    environment = {**os.environ, **ranks, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(local)}
    command = [sys.executable, *args.command]
    if args.output:
        with open(args.output.replace("%t", str(rank)), "wb") as file:
            return subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
    if not args.label:
        return subprocess.Popen(command, env=environment)
    task = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    threading.Thread(target=forward, args=(task, rank)).start()
    return task


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--label", action="store_true")
    parser.add_argument("--output")
    parser.add_argument("--kill-on-bad-exit", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    tasks = [start(args, local) for local in range(args.count)]
    while any(task.poll() is None for task in tasks):
        if args.kill_on_bad_exit and any(task.poll() for task in tasks):
            time.sleep(0.5)
            for task in tasks:
                task.terminate()
            time.sleep(3)
            for task in tasks:
                task.kill()
        time.sleep(0.1)
    sys.exit(max(abs(task.returncode) for task in tasks))


if __name__ == "__main__":
    main()
