"""Trains a toy translator; every rank logs JSON lines, pushes gauges from a thread and saves when it is signalled."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
import urllib.request
from typing import Any

import cluster
import torch
import torch.distributed as dist


class Lines:
    """Logs JSON lines."""

    def __init__(self) -> None:
        self.rank = -1

    def __call__(self, level: str, event: str, **fields: object) -> None:
        """Writes a line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() * 1000) % 1000:03d}Z"
        row = {"ts": stamp, "level": level, "rank": self.rank, "event": event, **fields}
        print(json.dumps(row), file=sys.stderr, flush=True)


log = Lines()
stop = threading.Event()


def on_signal(number: int, frame: object) -> None:
    """Asks the loop to stop after this step."""
    log("warning", f"received {signal.Signals(number).name}, will save and stop after this step")
    stop.set()


def push_gauges(url: str, rank: int) -> None:
    """Sends gauges for ever."""
    while True:
        time.sleep(2.5)
        body = json.dumps({"rank": rank, "time": time.time()}).encode()
        urllib.request.urlopen(f"{url}/metrics/job/translate", body, timeout=5).close()


def rate(step: int, total: int) -> float:
    """A circular schedule: slow at first, falling to nothing at the end."""
    return 0.1 * math.sqrt(1 - (step / total) ** 2)


def train(args: argparse.Namespace, rank: int, world: int) -> None:
    """The loop."""
    vocabulary = os.environ["CORPUS_ROOT"] + "/vocab.en-de.txt"
    log("info", "start", vocabulary=vocabulary, world=world, max_steps=args.max_steps)
    table = torch.nn.Embedding(64, 16)
    for step in range(1, args.max_steps + 1):
        lr = rate(step, args.total_steps or args.max_steps + 1)
        loss = table(torch.randint(0, 64, (8, 10))).square().mean()
        loss.backward()
        gradient: Any = table.weight.grad
        dist.all_reduce(gradient)
        with torch.no_grad():
            table.weight -= lr / world * gradient
        table.weight.grad = None
        time.sleep(0.25)
        if step % 2 == 0:
            log("info", "step", step=step, loss=round(loss.item(), 5), lr=round(lr, 5))
        if step % 9 == 0:
            log("warning", "gradient overflow, scale is halved", step=step, scale=2.0 ** (16 - step // 9))
        if stop.is_set():
            torch.save(table.state_dict(), f"resume-{rank}.pt")
            log("info", "saved for a later resume", path=f"resume-{rank}.pt", step=step)
            break
    dist.barrier()
    log("info", "done")
    dist.destroy_process_group()


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-steps", type=int, default=40)
    parser.add_argument("--total-steps", type=int, default=0, help="of the schedule, when it differs")
    parser.add_argument("--gauges", default="")
    args = parser.parse_args()
    log.rank = int(os.environ["RANK"])
    signal.signal(signal.SIGUSR1, on_signal)
    rank, world = cluster.join()
    if args.gauges:
        threading.Thread(target=push_gauges, args=(args.gauges, rank), name="gauges", daemon=True).start()
    try:
        train(args, rank, world)
    except Exception as error:
        log("error", "training failed", error=repr(error), exc_info=traceback.format_exc())
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
