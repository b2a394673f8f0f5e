"""Trains on web page titles that are cleaned on the fly; every rank has a file of pages of its own."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from typing import Any

import cluster
import torch
import torch.distributed as dist

SLUG = re.compile(r"^(?:\w+[-_ ]?)+$")
FORMAT = "{} | {: <7} | rank{} | {}"


def say(level: str, text: str) -> None:
    """Writes a line."""
    line = FORMAT.format(time.strftime("%Y-%m-%d %H:%M:%S"), level, os.environ["RANK"], text)
    print(line, file=sys.stderr, flush=True)


def clean(page: dict[str, str]) -> str:
    """The title, marked by its language and by whether it is only a slug."""
    title = page["title"].strip()
    kind = "slug" if SLUG.match(title) else "text"
    return f"{page['lang']}:{kind}:{title.lower()}"


def tokens_of(pages: list[dict[str, str]]) -> Any:
    """Titles to a batch of bytes."""
    return torch.tensor([list(clean(page).encode()[:24].ljust(24)) for page in pages])


def train(args: argparse.Namespace, rank: int, world: int) -> None:
    """The loop."""
    with open(f"pages/{rank}.jsonl", encoding="utf-8") as file:
        pages = [json.loads(line) for line in file]
    say("INFO", f"{len(pages)} pages for {world} ranks")
    table = torch.nn.Embedding(256, 8)
    optimizer = torch.optim.Adagrad(table.parameters(), lr=0.1)
    for step in range(len(pages) // args.batch):
        loss = table(tokens_of(pages[step * args.batch : (step + 1) * args.batch])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        dist.all_reduce(table.weight.grad)
        optimizer.step()
        say("INFO", f"step {step} loss={loss.item():.5f}")
        time.sleep(0.2)
    dist.barrier()


def main() -> None:
    """Trains and tidies up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--catch", action="store_true", help="log bad input in one line")
    args = parser.parse_args()
    rank, world = cluster.join()
    if not args.catch:
        train(args, rank, world)
        dist.destroy_process_group()
        return
    try:
        train(args, rank, world)
        say("INFO", "finished")
    except (KeyError, ValueError, UnicodeError) as error:
        say("ERROR", f"training stopped: {error}")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
