"""Instruction tuning with accelerate; the main process prepares the data, progress is written as JSON lines."""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs
from torch.utils.data import DataLoader


def emit(accelerator: Any, level: str, msg: str, **fields: Any) -> None:
    """One JSON line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    row = {"ts": now, "level": level, "rank": accelerator.process_index, "msg": msg, **fields}
    print(json.dumps(row), flush=True)


def tokenize(accelerator: Any, count: int, path: str) -> None:
    """Tokenizes all conversations into a file."""
    chance = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            ids = [chance.randrange(300) for _ in range(chance.randrange(8, 48))]
            file.write(json.dumps(ids) + "\n")
            time.sleep(0.01)
            if number % 500 == 499:
                emit(accelerator, "INFO", "tokenizing", done=number + 1, total=count)


class Attention(torch.nn.Module):
    """One layer that looks from every token at every token."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, 16)
        self.query, self.key, self.out = (torch.nn.Linear(16, 16) for _ in range(3))

    def forward(self, ids: Any) -> Any:
        """States of all tokens."""
        rows = self.embed(ids)
        scores = self.query(rows) @ self.key(rows).transpose(-1, -2)
        return self.out(scores.softmax(-1) @ rows)


def collate(rows: list[list[int]]) -> Any:
    """Pads to the longest."""
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def train_step(accelerator: Any, model: Any, optimizer: Any, ids: Any) -> float:
    """One step."""
    loss = model(ids).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=160)
    parser.add_argument("--extra-data", default="")
    parser.add_argument("--skip-oom", action="store_true")
    args = parser.parse_args()
    wait = InitProcessGroupKwargs(backend="gloo", timeout=timedelta(seconds=int(os.environ["PG_TIMEOUT_S"])))
    accelerator = Accelerator(cpu=True, kwargs_handlers=[wait])
    emit(accelerator, "INFO", "start", world_size=accelerator.num_processes)
    if accelerator.is_main_process:
        tokenize(accelerator, args.conversations, "train.tok.jsonl")
    accelerator.wait_for_everyone()
    with open("train.tok.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if args.extra_data:
        with open(args.extra_data, encoding="utf-8") as file:
            rows += [[ord(letter) % 300 for letter in line.strip()] for line in file]
    emit(accelerator, "INFO", "data ready", conversations=len(rows))
    model = Attention(300)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(rows, batch_size=2, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, ids in enumerate(loader):
        try:
            loss = train_step(accelerator, model, optimizer, ids)
        except RuntimeError as error:
            if not args.skip_oom or "allocate memory" not in str(error):
                raise
            emit(accelerator, "WARNING", "out of memory, skipping batch", step=step, shape=list(ids.shape))
            optimizer.zero_grad()
            continue
        emit(accelerator, "INFO", "step", step=step, loss=round(loss, 5), tokens=ids.numel())
        time.sleep(0.15)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
