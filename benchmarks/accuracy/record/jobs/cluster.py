"""Joins the process group, sets up the log and, when asked from outside, writes this rank's Flight Recorder dump."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

FORMATS = {
    "plain": "%(asctime)s %(levelname)s [rank {rank}] %(name)s: %(message)s",
    "task": "%(asctime)s p{rank} %(levelname)s %(message)s",
    "hydra": "[%(asctime)s][%(name)s][%(levelname)s][rank{rank}] - %(message)s",
    "clip": "%(asctime)s | %(levelname)s | Rank {rank} | %(message)s",
    "loguru": "%(asctime)s | %(levelname)-8s | %(name)s:%(funcName)s:%(lineno)d - [{rank}/{world}] %(message)s",
    "glog": "%(levelname).1s%(asctime)s r{rank} %(filename)s:%(lineno)d] %(message)s",
    "csv": "%(asctime)s,%(process)d,{rank}/{world},%(levelname)s,%(message)s",
    "root": "%(levelname)s:%(name)s:r{rank}:%(message)s",
    "print": "[{rank}/{world}] %(message)s",
    "bare": "%(asctime)s %(message)s",
}


class JsonLines(logging.Formatter):
    """A record as a JSON object; a traceback is a field of it."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}"
        row = {"time": stamp, "level": record.levelname, "rank": int(os.environ["RANK"]), "logger": record.name}
        row["message"] = record.getMessage()
        if record.exc_info:
            row["exc_info"] = self.formatException(record.exc_info)
        return json.dumps(row)


def start_log(rank: int, world: int) -> None:
    """Sets up the log in the format that the environment asks for."""
    style = os.environ.get("LOG_STYLE", "plain")
    handler = logging.StreamHandler()
    text = FORMATS.get(style, FORMATS["plain"]).format(rank=rank, world=world)
    date = "%Y-%m-%d,%H:%M:%S" if style == "clip" else None
    handler.setFormatter(JsonLines() if style == "json" else logging.Formatter(text, date))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("urllib3", "botocore", "httpx", "fsspec", "aiobotocore", "s3transfer"):
        logging.getLogger(name).setLevel(logging.WARNING)


def wait() -> timedelta:
    return timedelta(seconds=int(os.environ.get("PG_TIMEOUT_S", "1800")))


def join() -> tuple[int, int]:
    """Initialises the log and the group; returns rank and world size."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    start_log(rank, world)
    dist.init_process_group("gloo", timeout=wait())
    threading.Thread(target=_dump_when_asked, args=(rank,), daemon=True).start()
    torch.manual_seed(1234 + rank)
    logging.getLogger("train").info("joined, world size %d, pid %d", world, os.getpid())
    return rank, world


def rows_of(rank: int) -> list[dict[str, Any]]:
    """The rows of a rank, from where this host keeps them."""
    with open(f"{os.environ.get('ROWS_ROOT', 'rows')}/{rank}.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def by_rank(text: str, rank: int) -> str:
    """The value of this rank in `rank:value,rank:value`; empty where there is none."""
    pairs = (one.partition(":") for one in text.split(",") if one)
    return next((value for key, _, value in pairs if key == str(rank)), "")


def _dump_when_asked(rank: int) -> None:
    here = Path(__file__).parent
    while not (here / "dump-now").exists():
        time.sleep(0.2)
    dump = torch._C._distributed_c10d._dump_fr_trace()
    (here / "fr" / f"nccl_trace_rank_{rank}").write_bytes(dump)
